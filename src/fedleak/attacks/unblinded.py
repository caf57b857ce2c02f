"""Paillier ciphertexts without their random factor: c = 1 + m n, which the public key opens, m = (c - 1) / n.

Where nobody says the key, the greatest common divisor of all c - 1 is n times that of the plaintexts. Libraries that
keep signed integers send 1 - |m| n for a negative m, with the sign beside it; sums of plaintexts wrap at n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.payload import CipherArray, IntegerArray, Tree
from fedleak.core.transcript import Message

LEAST_MODULUS_BITS = 512  # a shorter common divisor is no modulus
EXPONENT_BASE = 16.0  # of exponents that are sent beside ciphertexts, as the libraries that send them have it
ENOUGH = 8  # ciphertexts: a divisor that so many plaintexts share by luck would have to be 1


def moduli_of(messages: Iterable[Message]) -> list[int]:
    """Of all published keys that are Paillier's."""
    held = [m.payload.items.get("modulus") if isinstance(m.payload, Tree) else None for m in messages]
    return [int(one.to_ints()[0]) for one in held if isinstance(one, IntegerArray)]


def integers_of(c: CipherArray) -> list[int]:
    found = [int.from_bytes(bytes(row), "big") for row in c.data]
    if c.signs is None:
        return found
    return [int(sign) * value for sign, value in zip(c.signs, found, strict=True)]


def common_modulus(ciphertexts: Iterable[Sequence[int]]) -> int | None:
    """The modulus of bare ciphertexts whose key is not known; None where they are blinded or too few."""
    shared = count = 0
    for numbers in ciphertexts:
        for number in numbers:
            shared, count = gcd(shared, number - 1), count + (number != 1)
    return shared if count >= ENOUGH and shared.bit_length() >= LEAST_MODULUS_BITS else None


def opened(numbers: Sequence[int], modulus: int) -> list[int] | None:
    """Plaintexts around zero; None where any of them is blinded."""
    if any((number - 1) % modulus for number in numbers):
        return None
    residues = [(number - 1) // modulus % modulus for number in numbers]
    return [residue - modulus if residue > modulus // 2 else residue for residue in residues]


def decoded(values: Sequence[int], c: CipherArray) -> FloatArray:
    """The numbers that plaintexts stand for, by the scale that came with them."""
    found = np.array([value / 2**c.fraction_bits for value in values], dtype=np.float64)
    return found if c.exponents is None else found * EXPONENT_BASE**c.exponents
