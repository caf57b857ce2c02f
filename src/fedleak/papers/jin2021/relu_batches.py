"""One gradient of a fully connected network with ReLU, solved by the zeros of its errors (after SPEAR, 2403.03945).

Pixels and cells are between 0 and 1 as they come, so that units are on or off for many rows alike; networks are just
drawn, in float32. Pictures are training pictures and seeds are ten and above: constants were chosen on test pictures.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from fedleak.attacks.networks.solved_batch import SolvedBatch, solved_batch
from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue
from fedleak.papers.experiment import Band, Experiment, Figures, Row
from fedleak.papers.jin2021.one_gradient_case import GREY, TABLE, GradientCase, Problem, hidden_error, problem_of
from fedleak.papers.jin2021.printed import CIFAR, MNIST
from fedleak.papers.pieces import Piece, one_value
from fedleak.trial.progress import Progress

WIDTH = 512
DEEP = ("flatten", f"linear {WIDTH}", "activation relu", "linear 64", "activation relu", "linear 10")
DEEP_TABLE = (f"linear {WIDTH}", "activation relu", "linear 64", "activation relu", "linear 2")
SIZES = (8, 16, 24)
EXACT = 1e-3  # largest error of any cell, of a range of 1
NOTE = "called_recovered: the attack vouches for the batch; false_promises: of these, batches with a cell off by more"


class ReluBatches(Experiment):
    name = "jin2021/relu"
    summary = "rows of a batch from one gradient of a fully connected network with ReLU, by batch size"
    reference = Reference("jin2021", "section 2 and table 1, recovery from one gradient; ours, after SPEAR")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (10,) if quick else (10, 11, 12, 13, 14)

    def cases(self, *, quick: bool) -> list[GradientCase]:
        if quick:
            return [GradientCase(MNIST, 8), GradientCase(TABLE, 4)]
        return [GradientCase(data, size) for data in (MNIST, CIFAR, TABLE) for size in SIZES]

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        cases, seeds = self.cases(quick=quick), self.seeds(quick=quick)
        progress.begin(self.name, len(cases))
        for case in cases:
            yield batch_row(case, [_piece(case, seed).measure(self.kept) for seed in seeds], WIDTH)
            progress.advance()

    def pieces(self, *, quick: bool) -> list[Piece]:
        return [_piece(case, seed) for case in self.cases(quick=quick) for seed in self.seeds(quick=quick)]


def _piece(case: GradientCase, seed: int) -> Piece:
    return one_value(["relu", case.dataset, case.n_rows, seed], partial(_figures, case, seed))


def _figures(case: GradientCase, seed: int) -> Figures:
    lines = DEEP_TABLE if case.dataset == TABLE else DEEP
    problem = problem_of(case, seed, lines=lines, part="train")
    return batch_figures(problem, *timed_batch(problem, seed))


def timed_batch(problem: Problem, seed: int) -> tuple[SolvedBatch, float]:
    """And its CPU seconds."""
    began = time.process_time()
    batch = solved_batch(problem.seen, np.random.default_rng([seed, 1]))
    return batch, time.process_time() - began


def batch_figures(problem: Problem, batch: SolvedBatch, seconds: float) -> Figures:
    """Of one batch. What is not vouched for counts as not solved, however near it is."""
    error = hidden_error(problem, batch)
    true_counts = np.bincount(problem.labels, minlength=problem.seen.network.n_classes)
    exact = error is not None and error <= EXACT
    return {
        "called_recovered": float(batch.fits),
        "exact": float(exact),
        "false_promises": float(batch.fits and not exact),
        "label_counts_exact": float(batch.counts is not None and bool((batch.counts.counts == true_counts).all())),
        "largest_error": error if batch.fits else None,
        "cpu_seconds": seconds,
        "error_of_one_half": float(np.abs(problem.inputs - GREY).max()),
    }


def batch_row(case: GradientCase, found: Sequence[Figures], width: int) -> Row:
    shares = ("called_recovered", "exact", "false_promises", "label_counts_exact", "cpu_seconds")
    means = {name: float(np.mean([one[name] for one in found])) for name in shares}
    errors = [one["largest_error"] for one in found if one["largest_error"] is not None]
    measured: Figures = {
        **means,
        "largest_error": max(errors) if errors else None,
        "cpu_seconds_high": max(one["cpu_seconds"] or 0.0 for one in found),
    }
    blind = {"largest_error": max(one["error_of_one_half"] or 0.0 for one in found)}
    setting: dict[str, ScalarValue] = {"dataset": case.dataset, "K": case.n_rows, "width": width}
    return Row(setting, measured, baseline=blind, note=NOTE, bands={"cpu_seconds": Band.MAX})
