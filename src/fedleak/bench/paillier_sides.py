"""The two sides of the Paillier bench, doing the same five operations on the same numbers."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import CipherArray
from fedleak.crypto.cipher import select
from fedleak.crypto.fixed_point import centred, decode, encode
from fedleak.crypto.paillier import PaillierPrivateKey

OPERATIONS = ("encrypt", "decrypt", "add", "multiply", "matvec")


@dataclass(frozen=True, eq=False)
class Workload:
    values: FloatArray
    scalars: IntArray
    matrix: IntArray  # the product is its transpose times as many ciphertexts as it has rows
    fraction_bits: int


class Side(Protocol):
    def run(self, operation: str, count: int) -> object:
        """What is timed."""

    def plaintexts(self, result: Any) -> list[float]:
        """What came out of ``run``, to compare with the other side: integers, or numbers where it decrypted."""


class FedleakSide:
    def __init__(self, private: PaillierPrivateKey, workload: Workload) -> None:
        self._private, self._public = private, private.public
        self._work = workload
        self.ciphertexts = self.encrypt(len(workload.values))

    def run(self, operation: str, count: int) -> object:
        return getattr(self, operation)(count)

    def plaintexts(self, result: CipherArray | FloatArray) -> list[float]:
        if isinstance(result, CipherArray):
            modulus = self._public.modulus
            return [centred(residue, modulus) for residue in self._private.decrypt(result)]
        return [float(number) for number in result]

    def encrypt(self, count: int) -> CipherArray:
        bits = self._work.fraction_bits
        return self._public.encrypt(encode(self._work.values[:count], bits), bits)

    def decrypt(self, count: int) -> FloatArray:
        residues = self._private.decrypt(select(self.ciphertexts, slice(count)))
        return decode(residues, self._work.fraction_bits, self._public.modulus)

    def add(self, count: int) -> CipherArray:
        some = select(self.ciphertexts, slice(count))
        return self._public.add(some, some)

    def multiply(self, count: int) -> CipherArray:
        return self._public.multiply(select(self.ciphertexts, slice(count)), self._work.scalars[:count])

    def matvec(self, _count: int) -> CipherArray:
        return self._public.matvec(self._work.matrix.T, select(self.ciphertexts, slice(len(self._work.matrix))))


class PheSide:
    """phe on integers: no exponents to align, so it does the work that the arithmetic needs and no more."""

    def __init__(
        self, phe: ModuleType, private: PaillierPrivateKey, ciphertexts: CipherArray, workload: Workload
    ) -> None:
        self._public = phe.PaillierPublicKey(private.public.modulus)
        self._private = phe.PaillierPrivateKey(self._public, private.p, private.q)
        self._values = workload.values.tolist()
        self._scalars = workload.scalars.tolist()
        self._matrix_columns = workload.matrix.T.tolist()
        self._unit = 1 << workload.fraction_bits
        integers = [int.from_bytes(row.tobytes(), "big") for row in ciphertexts.data]
        self._ciphertexts = [phe.EncryptedNumber(self._public, integer, 0) for integer in integers]

    def run(self, operation: str, count: int) -> object:
        return getattr(self, operation)(count)

    def plaintexts(self, result: list[Any]) -> list[float]:
        return [entry if isinstance(entry, float) else self._private.decrypt(entry) for entry in result]

    def encrypt(self, count: int) -> list[Any]:
        return [self._public.encrypt(round(value * self._unit)) for value in self._values[:count]]

    def decrypt(self, count: int) -> list[float]:
        return [self._private.decrypt(c) / self._unit for c in self._ciphertexts[:count]]

    def add(self, count: int) -> list[Any]:
        return [c + c for c in self._ciphertexts[:count]]

    def multiply(self, count: int) -> list[Any]:
        pairs = zip(self._ciphertexts[:count], self._scalars[:count], strict=True)
        return [c * scalar for c, scalar in pairs]

    def matvec(self, _count: int) -> list[Any]:
        return [self._dot(column) for column in self._matrix_columns]

    def _dot(self, scalars: list[int]) -> Any:
        total = self._ciphertexts[0] * scalars[0]
        for c, scalar in zip(self._ciphertexts[1 : len(scalars)], scalars[1:], strict=True):
            total = total + c * scalar
        return total
