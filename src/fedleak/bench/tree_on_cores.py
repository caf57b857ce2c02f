"""One tree of SecureBoost on one core and on all: time, memory, and that the splits are the same."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import RunError
from fedleak.core.payload import Table
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.randomness import Randomness
from fedleak.crypto.cores import using
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.trial.play import play
from fedleak.trial.spent import cpu_seconds

_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, eq=False)
class Growth:
    """``peak_bytes`` of the process itself, ``helpers_peak_bytes`` of the largest of its helpers."""

    cores: int
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    helpers_peak_bytes: int
    load: float  # of the machine when it began: processes that want a core
    splits: tuple[AnyArray, ...]

    def figures(self) -> dict[str, float]:
        return {name: value for name, value in vars(self).items() if name != "splits"}


def measure_cores(federation: Federation, seed: int, n_cores: int | None = None) -> Mapping[str, object]:
    """One after the other, each in a fresh process: a peak of memory is of a whole process."""
    wanted = (1, n_cores or os.cpu_count() or 1)
    alone, together = (_in_fresh_process(federation, seed, number) for number in wanted)
    check_same_splits(alone.splits, together.splits)
    return {
        "one_core": alone.figures(),
        "all_cores": together.figures(),
        "wall_ratio": alone.wall_seconds / together.wall_seconds,
    }


def check_same_splits(one: Sequence[AnyArray], other: Sequence[AnyArray]) -> None:
    if not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True)):
        raise RunError("splits must be the same on one core and on all; they differ")


def _in_fresh_process(federation: Federation, seed: int, n_cores: int) -> Growth:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_grown, federation, seed, n_cores).result()


def _grown(federation: Federation, seed: int, n_cores: int) -> Growth:
    load, began, cpu_began = os.getloadavg()[0], time.perf_counter(), cpu_seconds()
    with using(n_cores):
        run = play(federation, Randomness.published(seed)).run
    wall, cpu = time.perf_counter() - began, cpu_seconds() - cpu_began
    whose = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    peak, helpers = (resource.getrusage(who).ru_maxrss * _RSS_UNIT for who in whose)
    records = (record for party in sorted(run.locals) for record in run.locals[party])
    kept = [record.value for record in records if record.name == boosting.SPLITS.name]
    splits = tuple(np.asarray(value.values) for value in kept if isinstance(value, Table))
    return Growth(n_cores, wall, cpu, peak, helpers, load, splits)
