"""Fig. 9: the attack on many predictions, by how many predictions there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from fedleak.attacks.predictions.generative_regression import GenerativeRegressionNetwork
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.core.whole.randomness import public_stream
from fedleak.papers.experiment import Experiment, Panel, Row
from fedleak.papers.luo2021.served_trial import (
    SETTINGS,
    UNIFORM,
    logistic,
    reference_errors,
    serve,
    split_rows,
    target_columns,
)
from fedleak.papers.luo2021.tables import PaperTable, paper_table
from fedleak.papers.panels import panels_by
from fedleak.papers.pieces import Piece, one_value
from fedleak.papers.summaries import student_95
from fedleak.trial.progress import Progress

DATA = ("synthetic1", "synthetic2", "drive", "news")
N_SHARES = (0.1, 0.3, 0.5)  # of the pool of rows, as in the paper
SPLIT = (0.4, 0.1, 0.5)
SHARE = 0.4


@dataclass(frozen=True)
class Pool:
    """Rows that stand for the whole data set; drive has hardly more than there are here in the small form."""

    rows: int | None  # None: all that there are
    trained_on: int | None  # at most; None: all of their share of the table

    def numbers(self, table: PaperTable) -> list[int]:
        n_rows = len(table.labels) if self.rows is None else self.rows
        return [int(share * n_rows) for share in N_SHARES]

    def piece(self, name: str, seed: int) -> Piece:
        return one_value(["fig9", name, seed, self.rows], partial(_errors, self, name, seed))


def _errors(pool: Pool, name: str, seed: int) -> dict[str, dict[str, float]]:
    """By number of predictions and method. The rows have one random order, so that fewer are a part of more."""
    table = paper_table(name)
    model = logistic(table, split_rows(table, seed, SPLIT, (pool.trained_on, 1000, 0)))
    found = {}
    for n_predictions in pool.numbers(table):
        rows = split_rows(table, seed, SPLIT, (pool.trained_on, 1000, n_predictions)).predict
        served = serve(table, rows, target_columns(table, seed, SHARE), model, SETTINGS, seed=seed)
        attacks: tuple[Attack, ...] = (GenerativeRegressionNetwork(), PosteriorInference())
        errors = {attack.name: served.mse(attack) for attack in attacks}
        guess = reference_errors(served.hidden, public_stream(seed, "guess", name))
        found[str(len(rows))] = {**errors, UNIFORM: guess[UNIFORM]}
    return found


class Fig9(Experiment):
    name = "luo2021/fig9"
    summary = "generative regression on LR: MSE per feature by the number of predictions"
    reference = Reference("luo2021", "fig. 9")
    pool: ClassVar = Pool(2000, 4000)
    quick_pool: ClassVar = Pool(600, 4000)

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else tuple(range(10))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        seeds = self.seeds(quick=quick)
        progress.begin(self.name, len(DATA) * len(seeds))
        for name in DATA:
            trials = []
            for seed in seeds:
                trials.append(self._piece(name, seed, quick=quick).measure(self.kept))
                progress.advance()
            for n_predictions in trials[0]:
                yield from _rows(name, n_predictions, [trial[n_predictions] for trial in trials])

    def pieces(self, *, quick: bool) -> list[Piece]:
        return [self._piece(name, seed, quick=quick) for name in DATA for seed in self.seeds(quick=quick)]

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        return panels_by(rows, "data", "predictions", "method", "mse", y_label="MSE per feature")

    def _piece(self, name: str, seed: int, *, quick: bool) -> Piece:
        return (self.quick_pool if quick else self.pool).piece(name, seed)


class Fig9WholePools(Fig9):
    name = "luo2021/fig9-whole"
    summary = "the same on all rows of the data sets, as in the paper"
    pool = Pool(None, None)

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)


def _rows(name: str, n_predictions: str, trials: Sequence[dict[str, float]]) -> Iterator[Row]:
    baseline = {"mse": float(np.mean([trial[UNIFORM] for trial in trials]))}
    for method in trials[0]:
        setting: dict[str, ScalarValue] = {"data": name, "predictions": int(n_predictions), "method": method}
        measured = student_95("mse", [trial[method] for trial in trials])
        yield Row(setting, measured.figures, None, baseline, bands=measured.bands)
