"""Fig. 9: the attack on many predictions, by how many predictions there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

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
from fedleak.papers.luo2021.tables import paper_table
from fedleak.papers.panels import panels_by
from fedleak.papers.pieces import Piece, one_value
from fedleak.papers.summaries import student_95
from fedleak.trial.progress import Progress

DATA = ("synthetic1", "synthetic2", "drive", "news")
N_SHARES = (0.1, 0.3, 0.5)  # of the pool of rows, as in the paper
SPLIT = (0.4, 0.1, 0.5)
SHARE = 0.4


def _pool(quick: bool) -> int:
    """Rows that stand for the whole data set; drive has hardly more."""
    return 600 if quick else 2000


def _numbers(pool: int) -> list[int]:
    return [int(share * pool) for share in N_SHARES]


def _piece(name: str, seed: int, pool: int) -> Piece:
    return one_value(["fig9", name, seed, pool], partial(_errors, name, seed, pool))


def _errors(name: str, seed: int, pool: int) -> dict[str, dict[str, float]]:
    """By number of predictions and method. The rows have one random order, so that fewer are a part of more."""
    table = paper_table(name)
    model = logistic(table, split_rows(table, seed, SPLIT, (4000, 1000, 0)))
    found = {}
    for n_predictions in _numbers(pool):
        rows = split_rows(table, seed, SPLIT, (4000, 1000, n_predictions)).predict
        served = serve(table, rows, target_columns(table, seed, SHARE), model, SETTINGS, seed=seed)
        attacks: tuple[Attack, ...] = (GenerativeRegressionNetwork(), PosteriorInference())
        errors = {attack.name: served.mse(attack) for attack in attacks}
        guess = reference_errors(served.hidden, public_stream(seed, "guess", name))
        found[str(n_predictions)] = {**errors, UNIFORM: guess[UNIFORM]}
    return found


class Fig9(Experiment):
    name = "luo2021/fig9"
    summary = "generative regression on LR: MSE per feature by the number of predictions"
    reference = Reference("luo2021", "fig. 9")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else tuple(range(10))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        pool, seeds = _pool(quick), self.seeds(quick=quick)
        progress.begin(self.name, len(DATA) * len(seeds))
        for name in DATA:
            trials = []
            for seed in seeds:
                trials.append(_piece(name, seed, pool).measure(self.kept))
                progress.advance()
            for n_predictions in _numbers(pool):
                found = [trial[str(n_predictions)] for trial in trials]
                baseline = {"mse": float(np.mean([errors[UNIFORM] for errors in found]))}
                for method in found[0]:
                    setting: dict[str, ScalarValue] = {"data": name, "predictions": n_predictions}
                    setting |= {"method": method}
                    measured = student_95("mse", [errors[method] for errors in found])
                    yield Row(setting, measured.figures, None, baseline, bands=measured.bands)

    def pieces(self, *, quick: bool) -> list[Piece]:
        return [_piece(name, seed, _pool(quick)) for name in DATA for seed in self.seeds(quick=quick)]

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        return panels_by(rows, "data", "predictions", "method", "mse", y_label="MSE per feature")
