"""The random factor of ciphertexts, and what becomes of them where it is shared or left out: faults that libraries had.

Paillier's ciphertext is (1 + m n) r^n mod n^2. Without r^n the public key opens it.
"""

from __future__ import annotations

from fedleak.core.errors import InputError
from fedleak.core.payload import CipherArray
from fedleak.crypto.cipher import PublicKey, select

FRESH, SHARED, NONE = "fresh", "shared", "none"


def check_blinding(blinding: str, cipher: str, choices: tuple[str, ...]) -> None:
    if blinding not in choices:
        raise InputError(f"blinding must be one of {', '.join(choices)}; got {blinding!r}")
    if blinding != FRESH and cipher != "paillier":
        raise InputError(f'blinding must be "fresh" under the ideal cipher, which knows no other; got {blinding!r}')


def encrypted(public: PublicKey, values: list[int], fraction_bits: int, blinding: str) -> CipherArray:
    """``shared``: every ciphertext has the same random factor. ``none``: it has none, and the public key opens it."""
    if blinding == FRESH:
        return public.encrypt(values, fraction_bits)
    zero = public.encrypt([0], fraction_bits)
    alike = select(zero if blinding == SHARED else public.multiply(zero, [0]), [0] * len(values))
    return public.add_residues(alike, values)
