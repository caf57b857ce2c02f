"""Our Paillier against phe and whatever else is installed, operation by operation, all sides in one run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median

import numpy as np

from fedleak.bench.paillier_rivals import RIVALS, Rival, Side, Workload, installed
from fedleak.core.arrays import FloatArray
from fedleak.core.errors import MissingExtraError, RunError
from fedleak.core.payload import CipherArray
from fedleak.crypto.cipher import select
from fedleak.crypto.fixed_point import centred, decode, encode
from fedleak.crypto.paillier_cipher import Paillier, PaillierPrivateKey
from fedleak.crypto.subgroup_paillier import SubgroupPaillier
from fedleak.trial.provenance import environment

OURS = "fedleak"
SUBGROUP = SubgroupPaillier.name
OUR_RANDOMNESS = "powers of a fixed residue, exponents of half the key's length"
OPERATIONS = ("encrypt", "decrypt", "add", "multiply", "matvec")


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
    """CPU time of all sides, interleaved, medians. A ratio is their time over ours: above 1, ours is faster.

    Those named after an operation alone are against phe; ``heu_add_ratio`` and so on against others that are here;
    ``subgroup_add_ratio`` and so on are our keys of small subgroups against our plain ones.
    """
    _check_phe()
    sizes = QUICK if quick else FULL
    private = Paillier().generate(key_bits)
    table_seconds = cpu_seconds(private.public.prepare)
    workload = _workload(sizes)
    found = list(installed())
    sides: dict[str, Side] = {OURS: FedleakSide(private, workload)}
    sides[SUBGROUP] = FedleakSide(SubgroupPaillier().generate(key_bits), workload)
    sides |= {rival.package: rival(private, workload) for rival, _ in found}
    medians = {name: _medians(name, sides, sizes) for name in OPERATIONS}
    return {
        "bench": "paillier",
        **{ratio: value for rival, _ in found for ratio, value in _ratios(rival, medians)},
        **{f"subgroup_{name}_ratio": seconds[OURS] / seconds[SUBGROUP] for name, seconds in medians.items()},
        "sides": {
            OURS: {**_figures(sizes, medians, OURS), "table_seconds": table_seconds},
            SUBGROUP: _figures(sizes, medians, SUBGROUP),
            **{rival.package: _figures(sizes, medians, rival.package) for rival, _ in found},
        },
        "randomness": {OURS: OUR_RANDOMNESS, **{rival.package: rival.randomness for rival, _ in found}},
        "not_installed": sorted({rival.package for rival in RIVALS} - {rival.package for rival, _ in found}),
        "environment": environment(
            key_bits=key_bits,
            quick=quick,
            matrix="x".join(str(size) for size in sizes.matrix),
            fraction_bits=FRACTION_BITS,
            repetitions=sizes.repetitions,
            clock="CPU time of one process, median",
            cpu=_cpu_name(),
            **{rival.package: number for rival, number in found},
        ),
    }


def _check_phe() -> None:
    try:
        phe = import_module("phe")
    except ImportError:
        raise MissingExtraError(
            "bench paillier needs the package phe, the library that it measures against (GPL, a development "
            "dependency, not used otherwise); install it with: pip install 'fedleak[dev]'"
        ) from None
    if not phe.util.HAVE_GMP:
        raise MissingExtraError("bench paillier needs phe to find gmpy2, for a fair comparison; pip install gmpy2")


def _ratios(rival: type[Rival], medians: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, float]]:
    prefix = "" if rival.package == "phe" else f"{rival.package.removeprefix('sf-')}_"
    for name, seconds in medians.items():
        yield f"{prefix}{name}_ratio", seconds[rival.package] / seconds[OURS]


def _workload(sizes: Sizes) -> Workload:
    rng = np.random.default_rng(DATA_SEED)
    values = rng.standard_normal(max(sizes.matrix[0], *sizes.items.values()))
    scalars = encode(rng.standard_normal(len(values)), FRACTION_BITS)
    return Workload(values, scalars, encode(rng.standard_normal(sizes.matrix), FRACTION_BITS), FRACTION_BITS)


def _medians(name: str, sides: Mapping[str, Side], sizes: Sizes) -> dict[str, float]:
    """Seconds of every side; before anything is timed, they must agree on the plaintexts."""
    count = sizes.items[name]
    wanted = sides[OURS].plaintexts(sides[OURS].run(name, count))
    for side, other in sides.items():
        if side != OURS and other.plaintexts(other.run(name, count)) != wanted:
            raise RunError(f"both sides of {name} must give the same plaintexts; {side} and ours differ")
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(sizes.repetitions):
        for side, one in sides.items():
            seconds[side].append(cpu_seconds(partial(one.run, name, count)))
    return {side: median(found) for side, found in seconds.items()}


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _figures(sizes: Sizes, medians: Mapping[str, Mapping[str, float]], side: str) -> dict[str, float]:
    """Seconds of one operation."""
    return {f"{name}_seconds": seconds[side] / sizes.items[name] for name, seconds in medians.items()}


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
