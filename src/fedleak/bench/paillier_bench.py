"""Our Paillier against phe, operation by operation, both sides in one run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import MissingExtraError, RunError
from fedleak.core.payload import CipherArray
from fedleak.crypto.cipher import select
from fedleak.crypto.fixed_point import centred, decode, encode
from fedleak.crypto.paillier_cipher import Paillier, PaillierPrivateKey
from fedleak.trial.provenance import environment

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


FRACTION_BITS = 40
DATA_SEED = 7


@dataclass(frozen=True)
class Sizes:
    """How much one repetition does: items of each operation (products: of the whole matrix)."""

    items: Mapping[str, int]
    matrix: tuple[int, int]
    repetitions: int


FULL = Sizes({"encrypt": 32, "decrypt": 64, "add": 512, "multiply": 128, "matvec": 1}, (256, 12), repetitions=5)
QUICK = Sizes({"encrypt": 4, "decrypt": 8, "add": 256, "multiply": 16, "matvec": 1}, (256, 12), repetitions=3)


def measure(key_bits: int = 2048, quick: bool = False) -> Mapping[str, object]:
    """CPU time of both sides, interleaved, medians. A ratio is their time over ours: above 1, ours is faster."""
    phe = _import_phe()
    sizes = QUICK if quick else FULL
    private = Paillier().generate(key_bits)
    table_seconds = cpu_seconds(private.public.prepare)
    workload = _workload(sizes)
    ours = FedleakSide(private, workload)
    theirs = PheSide(phe, private, ours.ciphertexts, workload)
    medians = {name: _medians(name, ours, theirs, sizes) for name in OPERATIONS}
    return {
        "bench": "paillier",
        **{f"{name}_ratio": their_seconds / our_seconds for name, (our_seconds, their_seconds) in medians.items()},
        "sides": {
            "fedleak": {**_figures(sizes, medians, 0), "table_seconds": table_seconds},
            "phe": _figures(sizes, medians, 1),
        },
        "environment": environment(
            key_bits=key_bits,
            quick=quick,
            matrix="x".join(str(size) for size in sizes.matrix),
            fraction_bits=FRACTION_BITS,
            repetitions=sizes.repetitions,
            clock="CPU time of one process, median",
            cpu=_cpu_name(),
            phe=version("phe"),
        ),
    }


def _import_phe() -> ModuleType:
    try:
        phe = import_module("phe")
    except ImportError:
        raise MissingExtraError(
            "bench paillier needs the package phe, the library that it measures against (GPL, a development "
            "dependency, not used otherwise); install it with: pip install 'fedleak[dev]'"
        ) from None
    if not phe.util.HAVE_GMP:
        raise MissingExtraError("bench paillier needs phe to find gmpy2, for a fair comparison; pip install gmpy2")
    return phe


def _workload(sizes: Sizes) -> Workload:
    rng = np.random.default_rng(DATA_SEED)
    values = rng.standard_normal(max(sizes.matrix[0], *sizes.items.values()))
    scalars = encode(rng.standard_normal(len(values)), FRACTION_BITS)
    return Workload(values, scalars, encode(rng.standard_normal(sizes.matrix), FRACTION_BITS), FRACTION_BITS)


def _medians(name: str, ours: Side, theirs: Side, sizes: Sizes) -> tuple[float, float]:
    """Seconds of both sides; before anything is timed, they must agree on the plaintexts."""
    count = sizes.items[name]
    if ours.plaintexts(ours.run(name, count)) != theirs.plaintexts(theirs.run(name, count)):
        raise RunError(f"both sides of {name} must give the same plaintexts; they differ")
    our_seconds, their_seconds = [], []
    for _ in range(sizes.repetitions):
        our_seconds.append(cpu_seconds(lambda: ours.run(name, count)))
        their_seconds.append(cpu_seconds(lambda: theirs.run(name, count)))
    return median(our_seconds), median(their_seconds)


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _figures(sizes: Sizes, medians: Mapping[str, tuple[float, float]], side: int) -> dict[str, float]:
    """Seconds of one operation."""
    return {f"{name}_seconds": seconds[side] / sizes.items[name] for name, seconds in medians.items()}


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
