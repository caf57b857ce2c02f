"""Sums under masks that survive dropouts: the double masking of Bonawitz et al. 2017, sections 4 and 6.

In every round a party draws a key for masks with each partner and a seed for a mask of its own, and deals shares of
both to all parties. Of a party that sends nothing the others open the key, which takes its masks off the others'
vectors; of one that did send they open the seed. Never both: with both, a server that calls a slow party lost could
open its vector. Keys are fresh in every round, since an opened one would open the rounds before.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.errors import CryptoError
from fedleak.crypto.secure_aggregation import MaskingKey, Words, mask_of, pad
from fedleak.crypto.shamir import Share, combine

SEED_BYTES = 32


@dataclass(frozen=True)
class Announcement:
    """What a party publishes at the start of a round: the key's public part, and a commitment to the seed."""

    public: int
    commitment: bytes


class RoundSecrets:
    """A party's key and seed of one round."""

    def __init__(self) -> None:
        self.key = MaskingKey()
        self.seed = secrets.token_bytes(SEED_BYTES)

    @property
    def announcement(self) -> Announcement:
        return Announcement(self.key.public, commitment_to(self.seed))

    def mask(self, name: str, announced: Mapping[str, Announcement], round_number: int, count: int) -> Words:
        """Towards every partner that announced itself, and its own."""
        pairs = {other: self.key.shared_with(found.public) for other, found in announced.items() if other != name}
        return mask_of(name, pairs, round_number, count) + pad(self.seed, round_number, count)


@dataclass(frozen=True)
class Opened:
    """The shares that came in: of the seeds of those who sent, of the keys of those who did not."""

    seeds: Mapping[str, Sequence[Share]]
    keys: Mapping[str, Sequence[Share]]


def commitment_to(seed: bytes) -> bytes:
    return hashlib.sha256(b"commitment" + seed).digest()


def unmasked_total(
    vectors: Mapping[str, Words],
    announced: Mapping[str, Announcement],
    opened: Opened,
    *,
    threshold: int,
    round_number: int,
) -> Words:
    """The sum of the senders' encodings modulo 2^64. What is opened is checked against what was announced."""
    total: Words = np.asarray(np.sum(list(vectors.values()), axis=0, dtype=np.uint64), dtype=np.uint64)
    count = len(total)
    for name in vectors:
        total = total - pad(_seed_of(name, announced, opened, threshold), round_number, count)
    for lost in announced.keys() - vectors.keys():
        key = _key_of(lost, announced, opened, threshold)
        # What the others' masks towards the lost party sum to is the negative of what it would have sent.
        pairs = {name: key.shared_with(announced[name].public) for name in vectors}
        total = total + mask_of(lost, pairs, round_number, count)
    return total


def _seed_of(name: str, announced: Mapping[str, Announcement], opened: Opened, threshold: int) -> bytes:
    value = combine(opened.seeds.get(name, ()), threshold)
    if value.bit_length() > 8 * SEED_BYTES or commitment_to(value.to_bytes(SEED_BYTES, "big")) != (
        announced[name].commitment
    ):
        raise CryptoError(f"the opened seed of {name} must be the one that it committed to; got another")
    return value.to_bytes(SEED_BYTES, "big")


def _key_of(name: str, announced: Mapping[str, Announcement], opened: Opened, threshold: int) -> MaskingKey:
    key = MaskingKey(combine(opened.keys.get(name, ()), threshold))
    if key.public != announced[name].public:
        raise CryptoError(f"the opened key of {name} must be the one that it announced; got another")
    return key
