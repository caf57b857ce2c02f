"""A party that steps on its own rows and has its weights averaged with the others'."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core import steps
from fedleak.core.arrays import FloatArray
from fedleak.core.federation import Party
from fedleak.core.payload import Array, IntegerArray, Table
from fedleak.crypto import fixed_point
from fedleak.crypto.secure_aggregation import KEY_BYTES, MaskingKey, Words, mask_of, masked
from fedleak.protocols.actor import Actor


@dataclass(frozen=True)
class AveragingOptions:
    rate: float
    batch_size: int | None  # None: all rows in every round
    fraction_bits: int
    masked: bool


class AveragingMember:
    def __init__(self, party: Party, actor: Actor, options: AveragingOptions) -> None:
        assert party.train.labels is not None
        self.actor = actor
        self._options = options
        self._ids = party.train.ids
        self._features: FloatArray = actor.take_in(steps.OWN_DATA, party.train.features)
        self._labels = np.asarray(party.train.labels, dtype=np.float64)
        self._key = MaskingKey()
        self._pair_secrets: dict[str, bytes] = {}
        actor.record(steps.OWN_DATA, "features", Table(party.columns, self._ids, self._features))
        actor.record(steps.OWN_DATA, "labels", Table(("label",), self._ids, self._labels[:, None]))

    def introduce(self) -> None:
        """Publish how the rows are numbered, and the masking key."""
        self.actor.publish(steps.ROW_IDS, Array(self._ids))
        self.actor.publish(steps.AGREEMENT_KEY, IntegerArray.from_ints([self._key.public], KEY_BYTES))

    def agree_with(self, other: AveragingMember) -> None:
        self._pair_secrets[other.actor.name] = self._key.shared_with(other._key.public)

    def contribution(self, weights: FloatArray) -> Words:
        """The party's weights after its own step, encoded and under its mask; its records hold what is under it."""
        options, actor = self._options, self.actor
        local = actor.compute(steps.LOCAL_WEIGHTS, weights, self._own_step)
        sent = actor.outgoing(steps.LOCAL_WEIGHTS, local)
        rounded = np.ldexp(fixed_point.encode(sent, options.fraction_bits).astype(np.float64), -options.fraction_bits)
        actor.record(steps.LOCAL_WEIGHTS, "local-weights", Array(rounded))
        mask = np.zeros(len(sent), dtype=np.uint64)
        if options.masked:
            mask = mask_of(actor.name, self._pair_secrets, actor.round, len(sent))
        return masked(sent, options.fraction_bits, mask)

    def _own_step(self, weights: FloatArray) -> FloatArray:
        """W - rate X^T (X W - Y) / batch (eq. 6, with the mean over the batch)."""
        rows, labels = self._features, self._labels
        if self._options.batch_size is not None:
            chosen = self.actor.rng.permutation(len(rows))[: self._options.batch_size]
            rows, labels = rows[chosen], labels[chosen]
        return np.asarray(weights - self._options.rate * (rows.T @ (rows @ weights - labels)) / len(rows))
