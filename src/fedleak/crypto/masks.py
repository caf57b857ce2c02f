"""Masks: uniform residues that hide a value from the key holder, and shares of zero that vanish in a sum."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import combinations

import numpy as np

SURPLUS_BITS = 128  # drawn beyond the modulus: the residue is uniform up to 2^-128
HIDING_BITS = 80  # by which a share over the integers is longer than what it hides
SEED_BYTES = 32


def uniform_residues(rng: np.random.Generator, count: int, modulus: int, key_bits: int) -> list[int]:
    """Integers uniform in [0, modulus).

    It draws a number of bytes that depends on ``count`` and ``key_bits`` alone (no rejection), so two ciphers whose
    moduli differ leave the generator in one state.
    """
    if modulus.bit_length() != key_bits:
        raise ValueError(f"modulus must have key_bits = {key_bits} bits; got {modulus.bit_length()}")
    return [value % modulus for value in _integers(rng, count, key_bits + SURPLUS_BITS)]


def add_masks(residues: Sequence[int], masks: Sequence[int], modulus: int) -> list[int]:
    return [(residue + mask) % modulus for residue, mask in zip(residues, masks, strict=True)]


def remove_masks(residues: Sequence[int], masks: Sequence[int], modulus: int) -> list[int]:
    return [(residue - mask) % modulus for residue, mask in zip(residues, masks, strict=True)]


def pairwise_zero_shares(rng: np.random.Generator, n_parties: int, count: int, value_bits: int) -> list[list[int]]:
    """For each party ``count`` integers that sum to zero over the parties.

    Each pair of parties shares a seed; the first adds what it expands to, the second subtracts it. The shares are
    plain integers of about value_bits + 80 bits, so values under different keys can be masked with them and summed
    after decryption; a masked value of ``value_bits`` bits is within 2^-80 of independent of the value. A single party
    has nobody to hide its value among: its shares are zero.
    """
    shares = [[0] * count for _ in range(n_parties)]
    for first, second in combinations(range(n_parties), 2):
        pads = _expand(rng.bytes(SEED_BYTES), count, value_bits + HIDING_BITS)
        shares[first] = [share + pad for share, pad in zip(shares[first], pads, strict=True)]
        shares[second] = [share - pad for share, pad in zip(shares[second], pads, strict=True)]
    return shares


def _integers(rng: np.random.Generator, count: int, bits: int) -> list[int]:
    return _cut(rng.bytes(count * -(-bits // 8)), count)


def _expand(seed: bytes, count: int, bits: int) -> list[int]:
    return _cut(hashlib.shake_256(seed).digest(count * -(-bits // 8)), count)


def _cut(stream: bytes, count: int) -> list[int]:
    width = len(stream) // count if count else 0
    return [int.from_bytes(stream[index * width : (index + 1) * width], "big") for index in range(count)]
