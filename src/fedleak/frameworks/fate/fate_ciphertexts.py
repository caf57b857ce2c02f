"""FATE's vectors of Paillier ciphertexts, as it writes them: how many, then each with an exponent beside it.

A whole number is the base of its text (4 bytes), the text's length (8) and the text, with a minus where it is negative:
the encoding keeps the sign of the plaintext, blinded or not. An exponent is 4 bytes; the plaintext is m 16^exponent.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from fedleak.core.errors import FileFormatError
from fedleak.recorded_values import Ciphertexts

BASES = (10, 16)
MOST_CHARS = 1 << 16  # of one number: keys are far shorter
KEY = "arbiter"


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def unpacked(self, form: str) -> tuple[int, ...]:
        return struct.unpack(form, self._bytes(struct.calcsize(form)))

    def number(self) -> int:
        base, length = self.unpacked("<IQ")
        if base not in BASES or not 0 < length <= MOST_CHARS:
            raise FileFormatError(f"a number of FATE must be text in base 10 or 16; got base {base}, length {length}")
        text = self._bytes(length)
        try:
            return int(text, base)
        except ValueError as error:
            raise FileFormatError(f"a number of FATE must be text in base {base}; got {text[:20]!r}") from error

    @property
    def is_over(self) -> bool:
        return self._at == len(self._data)

    def _bytes(self, count: int) -> bytes:
        found = self._data[self._at : self._at + count]
        if len(found) < count:
            raise FileFormatError(
                f"ciphertexts of FATE end too early: {count} bytes were to follow, {len(found)} are left"
            )
        self._at += count
        return found


def read_vector(data: bytes) -> list[tuple[int, int]]:
    """Signed ciphertext and exponent of each."""
    reader = _Reader(data)
    (count,) = reader.unpacked("<Q")
    found = [(reader.number(), reader.unpacked("<i")[0]) for _ in range(_possible(count, data))]
    if not reader.is_over:
        raise FileFormatError(f"ciphertexts of FATE must end after {count}; more bytes follow")
    return found


def _possible(count: int, data: bytes) -> int:
    if count > len(data):
        raise FileFormatError(f"ciphertexts of FATE end too early: {count} were to follow in {len(data)} bytes")
    return count


def read_modulus(data: bytes) -> int:
    """n, the first number of a public key."""
    return _Reader(data).number()


def as_ciphertexts(parts: Sequence[bytes]) -> Ciphertexts:
    """The parts of a distributed vector, in their order, as one."""
    found = [pair for part in parts for pair in read_vector(part)]
    numbers = np.array([abs(number) for number, _ in found], dtype=object)
    signs = np.array([(number > 0) - (number < 0) for number, _ in found], dtype=np.int8)
    return Ciphertexts(numbers, KEY, exponents=np.array([e for _, e in found], dtype=np.int64), signs=signs)
