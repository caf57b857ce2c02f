"""Our Paillier against phe with gmpy2: the same key, the same ciphertexts, one thread, one process.

phe (GPL) is a development dependency, used as a measuring partner and as an oracle in tests.
"""

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

import numpy as np

from fedleak.audit.environment import environment
from fedleak.bench.paillier_sides import OPERATIONS, FedleakSide, PheSide, Side, Workload
from fedleak.core.errors import MissingExtraError, RunError
from fedleak.crypto.fixed_point import encode
from fedleak.crypto.paillier import Paillier

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
    table_seconds = _cpu_seconds(private.public.prepare)
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
        our_seconds.append(_cpu_seconds(lambda: ours.run(name, count)))
        their_seconds.append(_cpu_seconds(lambda: theirs.run(name, count)))
    return median(our_seconds), median(their_seconds)


def _cpu_seconds(work: Callable[[], object]) -> float:
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
