"""The random factor of ciphertexts, and what becomes of them where it is shared or left out: faults that libraries had.

Paillier's ciphertext is (1 + m n) r^n mod n^2. Without r^n the public key opens it. A library that computes 1 + m n in
signed integers and takes remainders towards zero sends n^2 - c with a minus for every negative m, blinded or not.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.core.arrays import SignArray
from fedleak.core.errors import InputError
from fedleak.core.payload import CipherArray
from fedleak.crypto.cipher import PublicKey, select

FRESH, SHARED, NONE, SIGNED = "fresh", "shared", "none", "signed"


def check_blinding(blinding: str, cipher: str, choices: tuple[str, ...]) -> None:
    if blinding not in choices:
        raise InputError(f"blinding must be one of {', '.join(choices)}; got {blinding!r}")
    if blinding != FRESH and cipher == "sealed":
        raise InputError(f'blinding must be "fresh" under the ideal cipher, which knows no other; got {blinding!r}')


def encrypted(public: PublicKey, values: list[int], fraction_bits: int, blinding: str) -> CipherArray:
    """``shared``: every ciphertext has the same random factor. ``none``: it has none, and the public key opens it.
    ``signed``: each has its own, and the sign of the plaintext beside it."""
    if blinding == FRESH:
        return public.encrypt(values, fraction_bits)
    if blinding == SIGNED:
        return signed(public, public.encrypt(values, fraction_bits), signs_of(values))
    zero = public.encrypt([0], fraction_bits)
    alike = select(zero if blinding == SHARED else public.multiply(zero, [0]), [0] * len(values))
    return public.add_residues(alike, values)


def signs_of(values: list[int]) -> SignArray:
    """Of 1 + m n: zero is encrypted as a positive number."""
    return np.array([-1 if value < 0 else 1 for value in values], dtype=np.int8)


def signed(public: PublicKey, c: CipherArray, signs: SignArray) -> CipherArray:
    """As signed integers: n^2 - c where the sign is negative, which is the same ciphertext modulo n^2."""
    return replace(_turned(public, c, signs), signs=signs)


def unsigned(public: PublicKey, c: CipherArray) -> CipherArray:
    """To compute with: our arithmetic is modulo n^2."""
    return c if c.signs is None else replace(_turned(public, c, c.signs), signs=None)


def _turned(public: PublicKey, c: CipherArray, signs: SignArray) -> CipherArray:
    data, n_squared = c.data.copy(), public.modulus**2
    for place in np.flatnonzero(signs < 0):
        turned = n_squared - int.from_bytes(data[place].tobytes(), "big")
        data[place] = np.frombuffer(turned.to_bytes(data.shape[1], "big"), dtype=np.uint8)
    return replace(c, data=data)
