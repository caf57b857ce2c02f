"""One gradient over 64 to 256 pictures, through ReLU: independent components, and zeros that make them exact.

Cocktail Party (2209.05578) ends at the components, SPEAR (2403.03945) at about 25 rows. Networks are just drawn, in
float32. Pictures are test pictures, seeds are 30 and above: constants were chosen on training pictures, seeds 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from fedleak.attacks.networks.batch_equations import equations_of
from fedleak.attacks.networks.component_rows import component_rows
from fedleak.attacks.networks.dense_top import top_of
from fedleak.attacks.networks.layer_factors import factors_of
from fedleak.core.arrays import FloatArray
from fedleak.core.attack import Reference
from fedleak.metrics.picture_metrics import decibels
from fedleak.papers.experiment import Experiment, Figures, Row
from fedleak.papers.jin2021.one_gradient_case import (
    GREY,
    GradientCase,
    Problem,
    errors_of_rows,
    problem_of,
    share_of_rows_within,
)
from fedleak.papers.jin2021.printed import CIFAR, MNIST
from fedleak.papers.jin2021.relu_batches import EXACT, batch_figures, batch_row, timed_batch
from fedleak.papers.pieces import Piece, one_value
from fedleak.trial.progress import Progress

WIDTH = 1024
WIDE = ("flatten", f"linear {WIDTH}", "activation relu", "linear 64", "activation relu", "linear 10")
RECOGNISED = 20.0  # dB
SIZES = (64, 128, 256)


class ManyPictures(Experiment):
    name = "jin2021/many-pictures"
    summary = "64 to 256 pictures from one gradient of a fully connected network with ReLU"
    reference = Reference("jin2021", "section 2 and table 1, recovery from one gradient; ours, after Cocktail Party")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (30,) if quick else (30, 31, 32)

    def cases(self, *, quick: bool) -> list[GradientCase]:
        return [GradientCase(data, size) for size in (SIZES[:1] if quick else SIZES) for data in (MNIST, CIFAR)]

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        """The smaller batches first."""
        cases, seeds = self.cases(quick=quick), self.seeds(quick=quick)
        progress.begin(self.name, len(cases))
        for case in cases:
            yield _row(case, [_piece(case, seed).measure(self.kept) for seed in seeds])
            progress.advance()

    def pieces(self, *, quick: bool) -> list[Piece]:
        return [_piece(case, seed) for case in self.cases(quick=quick) for seed in self.seeds(quick=quick)]


def _piece(case: GradientCase, seed: int) -> Piece:
    return one_value(["many", case.dataset, case.n_rows, seed], partial(_figures, case, seed))


def _figures(case: GradientCase, seed: int) -> Figures:
    problem = problem_of(case, seed, lines=WIDE)
    batch, seconds = timed_batch(problem, seed)
    return {
        **batch_figures(problem, batch, seconds),
        "rows_exact": share_of_rows_within(problem, batch, EXACT),
        **_by_components(problem, seed),
    }


def _by_components(problem: Problem, seed: int) -> Figures:
    """Of components alone, each beside the picture that it fits best; a picture without one counts as grey."""
    seen, shape = problem.seen, problem.seen.network.input_shape
    top = top_of(seen.network)
    assert top is not None
    factors = factors_of(top.gradient_of(0, seen.values), seen.epsilon, seen.n_rows)
    near = None
    if factors is not None:
        near = component_rows(equations_of(top, factors, seen.values, seen.epsilon), shape, np.random.default_rng(seed))
    each = _decibels(problem, np.full(problem.inputs.shape, GREY) if near is None else near.rows)
    grey = _decibels(problem, np.full(problem.inputs.shape, GREY))
    return {
        "psnr_of_components": float(np.median(each)),
        "components_above_20_db": float((each > RECOGNISED).mean()),
        "psnr_of_grey": float(np.median(grey)),
    }


def _decibels(problem: Problem, rows: FloatArray) -> FloatArray:
    return np.asarray(decibels(errors_of_rows(problem, rows)))


def _row(case: GradientCase, found: Sequence[Figures]) -> Row:
    row = batch_row(case, found, WIDTH)
    shares = ("rows_exact", "psnr_of_components", "components_above_20_db")
    means = {name: float(np.mean([one[name] or 0.0 for one in found])) for name in shares}
    blind = {
        **(row.baseline or {}),
        "psnr_of_components": float(np.mean([one["psnr_of_grey"] or 0.0 for one in found])),
    }
    return Row(row.setting, {**row.measured, **means}, baseline=blind, note=row.note, bands=row.bands)
