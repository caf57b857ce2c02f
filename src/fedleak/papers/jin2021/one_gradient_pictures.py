"""One gradient of a sigmoid network, solved: label counts, rows into the first fully connected layer, pixels.

The paper needs many gradients over known batches; this is what one of them gives. Pictures are test pictures, and seeds
others than those that constants were chosen on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np

from fedleak.attacks.networks.pixels_of_hidden import WORK
from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue
from fedleak.papers.experiment import Band, Experiment, Figures, Row
from fedleak.papers.jin2021.one_gradient_case import GradientCase, figures_of
from fedleak.papers.jin2021.printed import CIFAR, MNIST
from fedleak.papers.pieces import Piece, one_value
from fedleak.trial.progress import Progress

SIZES = (1, 4, 8, 16)
TRAINED = 400  # steps
QUICK_WORK = 400  # pictures x iterations
NOTE = (
    "psnr counts what is not told as grey; of what enters the first fully connected layer, where it was told, h_error "
    "is the largest error of any number and h_relative_error that of the worst row, by length"
)
H_FIGURES = ("h_error", "h_relative_error")


class OneGradientPictures(Experiment):
    name = "jin2021/one-gradient"
    summary = "pictures of a batch from one gradient, by batch size, of models untrained and trained"
    reference = Reference("jin2021", "section 2 and table 1, recovery from one gradient; ours")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def cases(self, *, quick: bool) -> list[GradientCase]:
        if quick:
            return [GradientCase(MNIST, 1), GradientCase(CIFAR, 4), GradientCase(MNIST, 4, 20)]
        return [GradientCase(data, size, steps) for data in (CIFAR, MNIST) for steps in (0, TRAINED) for size in SIZES]

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        """A seed after the other, so that an interruption leaves whole seeds."""
        cases, seeds = self.cases(quick=quick), self.seeds(quick=quick)
        progress.begin(self.name, len(cases) * len(seeds))
        found: dict[GradientCase, list[Figures]] = {case: [] for case in cases}
        for seed in seeds:
            for case in cases:
                found[case].append(_piece(case, seed, quick).measure(self.kept))
                progress.advance()
        for case, figures in found.items():
            yield _row(case, figures)

    def pieces(self, *, quick: bool) -> list[Piece]:
        every = product(self.seeds(quick=quick), self.cases(quick=quick))
        return [_piece(case, seed, quick) for seed, case in every]


def _piece(case: GradientCase, seed: int, quick: bool) -> Piece:
    work = QUICK_WORK if quick else WORK
    key = ["one-gradient", case.dataset, case.n_rows, case.n_trained, seed, work]
    return one_value(key, partial(figures_of, case, seed, work))


def _row(case: GradientCase, figures: Sequence[Figures]) -> Row:
    decibels, grey, seconds = (_column(figures, name) for name in ("psnr", "grey", "cpu_seconds"))
    told: dict[str, float | None] = dict.fromkeys(H_FIGURES)
    errors = {name: _column(figures, name) for name in H_FIGURES if _column(figures, name)}
    for name, values in errors.items():
        told |= {name: float(np.mean(values)), f"{name}_high": max(values)}
    measured: Figures = {
        "psnr": float(np.mean(decibels)),
        "psnr_low": min(decibels),
        "psnr_high": max(decibels),
        **told,
        "label_counts_exact": float(np.mean(_column(figures, "label_counts_exact"))),
        "solved": float(np.mean(_column(figures, "solved"))),
        "cpu_seconds": float(np.mean(seconds)),
        "cpu_seconds_high": max(seconds),
    }
    bands = {"psnr": Band.MIN_MAX, "cpu_seconds": Band.MAX} | dict.fromkeys(errors, Band.MAX)
    setting: dict[str, ScalarValue] = {"dataset": case.dataset, "K": case.n_rows, "training_steps": case.n_trained}
    return Row(setting, measured, baseline={"psnr": float(np.mean(grey))}, note=NOTE, bands=bands)


def _column(figures: Sequence[Figures], name: str) -> list[float]:
    return [value for one in figures if (value := one[name]) is not None]
