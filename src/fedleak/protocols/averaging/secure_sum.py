"""A party's side of secure aggregation: a key, a secret with each partner, and masks that cancel where all send."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.payload import Array
from fedleak.crypto import fixed_point
from fedleak.crypto.agreed_keys import MaskingKey
from fedleak.crypto.secure_aggregation import Words, mask_of, masked
from fedleak.protocols.actor import Actor
from fedleak.protocols.averaging import vocabulary as averaging


class Masker:
    """``fraction_bits`` is the precision at which vectors are sent; without ``active`` the mask is zero."""

    def __init__(self, actor: Actor, fraction_bits: int, *, active: bool = True) -> None:
        self._actor = actor
        self._fraction_bits = fraction_bits
        self._active = active
        self._key = MaskingKey()
        self._pair_secrets: dict[str, bytes] = {}

    def publish_key(self) -> None:
        self._actor.publish(averaging.AGREEMENT_KEY, Array(np.frombuffer(self._key.public, dtype=np.uint8)))

    def agree_with(self, other: Masker) -> None:
        self._pair_secrets[other._actor.name] = self._key.shared_with(other._key.public)

    @property
    def channels(self) -> Mapping[str, bytes]:
        """A secret with each partner."""
        return self._pair_secrets

    def rounded(self, vector: FloatArray) -> FloatArray:
        """What of a vector survives the encoding: what the party really puts under the mask."""
        encoded = fixed_point.encode(vector, self._fraction_bits)
        return np.ldexp(encoded.astype(np.float64), -self._fraction_bits)

    def mask(self, vector: FloatArray) -> Words:
        """The encoded vector under this round's mask, which cancels in the sum over all parties."""
        mask = np.zeros(len(vector), dtype=np.uint64)
        if self._active:
            mask = mask_of(self._actor.name, self._pair_secrets, self._actor.round, len(vector))
        return masked(vector, self._fraction_bits, mask, 1 + len(self._pair_secrets))
