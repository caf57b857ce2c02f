"""One gradient, solved, against our own DLG and cosine matching, on the same gradients and in the same CPU time.

Sigmoid networks in float32; test pictures of CIFAR-10 and MNIST, and rows of a table. Rivals get what our side took, or
five seconds where it took less, and use all of it: where a search has ended, from other starts, of which they keep the
one that their own distance prefers. Labels are theirs to find or to read off, as their papers have it. The better of
them counts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from fedleak.attacks.networks.dummy_batch import FEW, DummyBatch, Objective, matched_batch
from fedleak.attacks.networks.gradient_distances import cosine, squared
from fedleak.attacks.networks.gradient_matching import SMOOTH
from fedleak.attacks.networks.label_counts import counts_of
from fedleak.attacks.networks.pixels_of_hidden import WORK
from fedleak.core.arrays import FloatArray
from fedleak.metrics.picture_metrics import LEAST_ERROR, decibels
from fedleak.papers.jin2021.one_gradient_case import (
    TABLE,
    GradientCase,
    Problem,
    problem_of,
    solve,
    squared_error,
)
from fedleak.papers.jin2021.printed import CIFAR, MNIST
from fedleak.trial.provenance import environment, one_thread

SEED = 11
LEAST_SECONDS = 5.0
RIVALS = ("DLG", "cosine")
FULL = tuple(GradientCase(dataset, size) for dataset in (CIFAR, MNIST, TABLE) for size in (1, 4, 8))
QUICK = (GradientCase(MNIST, 1), GradientCase(TABLE, 4))
FULL_WORK, QUICK_WORK = WORK // 4, 400  # pictures x iterations: all sides together take minutes


def measure(quick: bool = False) -> Mapping[str, object]:
    """``error_ratio``: the better rival's squared error over ours, the smallest over all problems."""
    with one_thread():
        sides = {
            f"{case.dataset}, K = {case.n_rows}": _compared(case, QUICK_WORK if quick else FULL_WORK, quick=quick)
            for case in (QUICK if quick else FULL)
        }
    return {
        "bench": "inversion",
        "error_ratio": min(side["error_ratio"] for side in sides.values()),
        "sides": sides,
        "environment": environment(
            quick=quick,
            precision="float32",
            seed=SEED,
            clock=f"CPU time of one process; rivals get ours, at least {LEAST_SECONDS:g} s in a full run",
        ),
    }


def _compared(case: GradientCase, work: int, *, quick: bool) -> dict[str, float]:
    problem = problem_of(case, SEED)
    found = solve(problem, SEED, work=work)
    given = found.cpu_seconds if quick else max(LEAST_SECONDS, found.cpu_seconds)
    figures = _figures("ours", squared_error(problem, found.inputs), found.cpu_seconds)
    for name in RIVALS:
        began = time.process_time()
        error = squared_error(problem, _rival(name, problem, given))
        figures |= _figures(name, error, time.process_time() - began)
    best = min(figures[f"{name}_mse"] for name in RIVALS)
    return {"error_ratio": max(best, LEAST_ERROR) / max(figures["ours_mse"], LEAST_ERROR), **figures}


def _figures(name: str, error: float, seconds: float) -> dict[str, float]:
    return {f"{name}_mse": error, f"{name}_psnr": float(decibels(error)), f"{name}_cpu_seconds": seconds}


def _rival(name: str, problem: Problem, seconds: float) -> FloatArray:
    """What it finds in so much CPU time. A search that ends before goes on from other starts with what is left; the one
    whose gradient is nearest to what was seen is kept. How long an evaluation takes says how many there may be."""
    n_rows, seen = len(problem.inputs), problem.seen
    counts = None if name == "DLG" else counts_of(seen, n_rows)
    objective = Objective(squared) if name == "DLG" else Objective(cosine, SMOOTH)
    batch = DummyBatch(seen, objective, n_rows, None if counts is None else counts.labels)
    began, rng = time.process_time(), np.random.default_rng([SEED, n_rows])
    best, evaluations = matched_batch(batch, FEW, rng), FEW
    while (spent := time.process_time() - began) < seconds:
        left = int((seconds - spent) * evaluations / max(spent, 1e-9))
        found = matched_batch(batch, max(FEW, left), rng)
        evaluations += found.evaluations
        best = found if found.distance < best.distance else best
    return np.asarray(best.inputs)
