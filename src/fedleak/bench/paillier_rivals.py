"""Other people's Paillier, operation by operation as each library does it best; those that are installed are measured.

Every one works on integers, so that it does the work that the arithmetic needs and no more. Libraries that take
no primes of ours draw a key of the same length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.crypto.fixed_point import centred, encode
from fedleak.crypto.paillier_cipher import PaillierPrivateKey


@dataclass(frozen=True, eq=False)
class Workload:
    values: FloatArray
    scalars: IntArray
    matrix: IntArray  # the product is its transpose times as many ciphertexts as it has rows
    fraction_bits: int

    @property
    def integers(self) -> list[int]:
        encoded: list[int] = encode(self.values, self.fraction_bits).tolist()
        return encoded


class Side(Protocol):
    def run(self, operation: str, count: int) -> object:
        """What is timed."""

    def plaintexts(self, result: Any) -> list[float]:
        """What came out of ``run``, to compare with the other sides: integers, or numbers where it decrypted."""


class Rival:
    """``package`` is its name where packages are listed, ``module`` what is imported."""

    package: str
    module: str
    randomness: str  # how it blinds, which is most of what encryption costs

    def __init__(self, private: PaillierPrivateKey, workload: Workload) -> None:
        self._library = import_module(self.module)
        self._integers = workload.integers
        self._scalars = [int(scalar) for scalar in workload.scalars]
        self._columns = [[int(entry) for entry in column] for column in workload.matrix.T]
        self._unit = 1 << workload.fraction_bits
        self._draw_key(private)
        self._ciphertexts = self.encrypt(len(self._integers))

    def run(self, operation: str, count: int) -> object:
        return getattr(self, operation)(count)

    def plaintexts(self, result: Any) -> list[float]:
        """What was decrypted is floats; ciphertexts are opened to integers."""
        entries = list(result)
        return [*(entries if isinstance(entries[0], float) else self._opened(entries))]

    def decrypt(self, count: int) -> list[float]:
        return [integer / self._unit for integer in self._opened(self._ciphertexts[:count])]

    def encrypt(self, count: int) -> Any:
        raise NotImplementedError

    def add(self, count: int) -> list[Any]:
        return [c + c for c in self._ciphertexts[:count]]

    def multiply(self, count: int) -> list[Any]:
        return [c * scalar for c, scalar in zip(self._ciphertexts[:count], self._scalars[:count], strict=True)]

    def matvec(self, _count: int) -> list[Any]:
        return [self._dot(column) for column in self._columns]

    def _dot(self, scalars: list[int]) -> Any:
        total = self._ciphertexts[0] * scalars[0]
        for c, scalar in zip(self._ciphertexts[1 : len(scalars)], scalars[1:], strict=True):
            total = total + c * scalar
        return total

    def _draw_key(self, private: PaillierPrivateKey) -> None:
        raise NotImplementedError

    def _opened(self, ciphertexts: Any) -> list[int]:
        raise NotImplementedError


class PheSide(Rival):
    package, module = "phe", "phe"
    randomness = "r^n of a random r"

    def _draw_key(self, private: PaillierPrivateKey) -> None:
        self._public = self._library.PaillierPublicKey(private.public.modulus)
        self._private = self._library.PaillierPrivateKey(self._public, private.p, private.q)

    def encrypt(self, count: int) -> list[Any]:
        return [self._public.encrypt(integer) for integer in self._integers[:count]]

    def _opened(self, ciphertexts: Any) -> list[int]:
        return [self._private.decrypt(c) for c in ciphertexts]


class HeuSide(Rival):
    """Its arrays are in C++ from end to end, and it has a product of a matrix with ciphertexts."""

    package, module = "sf-heu", "heu.numpy"
    randomness = "powers of a fixed residue, exponents of half the key's length"

    def _draw_key(self, private: PaillierPrivateKey) -> None:
        scheme = import_module("heu.phe").SchemaType.ZPaillier
        kit = self._library.setup(scheme, private.public.key_bits)
        self._encoder = kit.bigint_encoder()
        self._encryptor, self._decryptor, self._evaluator = kit.encryptor(), kit.decryptor(), kit.evaluator()
        self._matrix = self._array(self._columns)

    def _array(self, integers: Any) -> Any:
        return self._library.array(np.array(integers, dtype=np.int64), self._encoder)

    def encrypt(self, count: int) -> Any:
        return self._encryptor.encrypt(self._array(self._integers[:count]))

    def decrypt(self, count: int) -> list[float]:
        return [integer / self._unit for integer in self._opened(self._ciphertexts[:count])]

    def plaintexts(self, result: Any) -> list[float]:
        return [*(result if isinstance(result, list) else self._opened(result))]

    def add(self, count: int) -> Any:
        some = self._ciphertexts[:count]
        return self._evaluator.add(some, some)

    def multiply(self, count: int) -> Any:
        return self._evaluator.mul(self._ciphertexts[:count], self._array(self._scalars[:count]))

    def matvec(self, _count: int) -> Any:
        return self._evaluator.matmul(self._matrix, self._ciphertexts[: len(self._columns[0])])

    def _opened(self, ciphertexts: Any) -> list[int]:
        return [int(value) for value in self._decryptor.decrypt(ciphertexts).to_numpy(self._encoder).ravel()]


class PypaillierSide(Rival):
    """Scalars are those that it calls public, whose time may show them, as ours does."""

    package, module = "pypaillier", "paillier"
    randomness = "powers of a fixed residue, short exponents"

    def _draw_key(self, private: PaillierPrivateKey) -> None:
        self._public, self._secret = self._library.generate_keypair(private.public.key_bits)

    def encrypt(self, count: int) -> list[bytes]:
        return [bytes(blob) for blob in self._library.encrypt_integers(self._public, self._integers[:count])]

    def add(self, count: int) -> list[bytes]:
        blocks = [[place, count + place] for place in range(count)]
        return list(self._library.add_blocks(self._public, 2 * self._ciphertexts[:count], blocks))

    def multiply(self, count: int) -> list[bytes]:
        return self._products(self._ciphertexts[:count], self._scalars[:count])

    def _dot(self, scalars: list[int]) -> Any:
        return self._library.add_many(self._public, self._products(self._ciphertexts[: len(scalars)], scalars))

    def _products(self, blobs: list[bytes], scalars: list[int]) -> list[bytes]:
        return [bytes(blob) for blob in self._library.multiply_integers_public(self._public, blobs, scalars)]

    def _opened(self, ciphertexts: Any) -> list[int]:
        blobs = [bytes(blob) for blob in ciphertexts]
        return [value for value, _ in self._library.decrypt_exact_many(self._secret, blobs)]


class LightpheSide(Rival):
    """In Python alone."""

    package, module = "lightphe", "lightphe"
    randomness = "r^n of a random r"

    def _draw_key(self, private: PaillierPrivateKey) -> None:
        self._scheme = self._library.LightPHE(algorithm_name="Paillier", key_size=private.public.key_bits)
        self._modulus = int(self._scheme.cs.keys["public_key"]["n"])

    def encrypt(self, count: int) -> list[Any]:
        return [self._scheme.encrypt(integer % self._modulus) for integer in self._integers[:count]]

    def _opened(self, ciphertexts: Any) -> list[int]:
        return [centred(int(self._scheme.decrypt(c)), self._modulus) for c in ciphertexts]


RIVALS: tuple[type[Rival], ...] = (PheSide, HeuSide, PypaillierSide, LightpheSide)


def installed() -> Iterator[tuple[type[Rival], str]]:
    """Those that are there, with their versions."""
    for rival in RIVALS:
        try:
            import_module(rival.module)
        except ImportError:
            continue
        yield rival, version(rival.package)
