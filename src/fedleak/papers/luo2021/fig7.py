"""Fig. 7 and 8: attacks on many predictions of LR, RF and NN, by the share of unknown features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import ClassVar

import numpy as np

from fedleak.attacks.predictions.generative_regression import GenerativeRegressionNetwork
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.core.whole.randomness import public_stream
from fedleak.metrics.branching_rate import branching
from fedleak.models.model import Model
from fedleak.models.tree_models import ForestModel
from fedleak.papers.experiment import Experiment, Panel, Row
from fedleak.papers.luo2021.served_trial import (
    LR,
    NN,
    RF,
    SETTINGS,
    SPLIT,
    UNIFORM,
    Most,
    Rows,
    Served,
    reference_errors,
    serve,
    split_rows,
    target_columns,
    trained,
)
from fedleak.papers.luo2021.tables import REAL, PaperTable, paper_table
from fedleak.papers.panels import panels_by
from fedleak.papers.pieces import Piece, one_value
from fedleak.papers.summaries import Summary, student_95
from fedleak.trial.progress import Progress

CPU = "cpu_seconds"
ServedModel = tuple[str, str, int]  # name, kind and epochs


@dataclass(frozen=True)
class Size:
    """How much of the paper's grid is run, and on how many rows."""

    shares: tuple[float, ...]
    seeds: tuple[int, ...]
    most: Most
    epochs: tuple[int, ...]  # of the networks that are attacked

    @property
    def models(self) -> tuple[ServedModel, ...]:
        """A network trained long, as the authors' is, has confidences next to 0 and 1."""
        first, *longer = self.epochs
        networks = ((NN, NN, first), *((f"{NN}, {epochs} epochs", NN, epochs) for epochs in longer))
        return (LR, LR, 0), (RF, RF, 0), *networks


QUICK = Size((0.4,), (0,), (2000, 500, 300), (6,))
FULL = Size((0.2, 0.4, 0.6), (0, 1, 2, 3, 4), (4000, 1000, 600), (15, 60))
WHOLE = Size((0.2, 0.4, 0.6), (0, 1, 2), (None, None, None), (60,))


class Fig7(Experiment):
    name = "luo2021/fig7"
    aliases: ClassVar[tuple[str, ...]] = ("luo2021/fig8",)
    summary = "generative regression and ours on LR, RF and NN: MSE per feature, CPU time, branching rate on RF"
    reference = Reference("luo2021", "fig. 7, fig. 8")

    full: ClassVar = FULL

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return self._size(quick=quick).seeds

    def _size(self, *, quick: bool) -> Size:
        return QUICK if quick else self.full

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        size = self._size(quick=quick)
        progress.begin(self.name, len(REAL) * len(size.models) * len(size.seeds))
        for name in REAL:
            for model in size.models:
                trials = []
                for seed in size.seeds:
                    trials.append(_piece(name, model, seed, size).measure(self.kept))
                    progress.advance()
                for share in size.shares:
                    yield from _rows(paper_table(name), model[0], share, [found[str(share)] for found in trials])

    def pieces(self, *, quick: bool) -> list[Piece]:
        size = self._size(quick=quick)
        every = product(REAL, size.models, size.seeds)
        return [_piece(name, model, seed, size) for name, model, seed in every]

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        labelled = [
            replace(row, setting={**row.setting, "panel": f"{row.setting['data']}, {row.setting['model']}"})
            for row in rows
        ]
        return panels_by(labelled, "panel", "unknown share", "method", "mse", y_label="MSE per feature")


class Fig7WholePools(Fig7):
    name = "luo2021/fig7-whole"
    aliases: ClassVar[tuple[str, ...]] = ()
    summary = "the same on all rows of the data sets, as in the paper"
    full = WHOLE


def _piece(name: str, model: ServedModel, seed: int, size: Size) -> Piece:
    key = ["fig7", name, list(model), seed, list(size.most)]
    return one_value(key, partial(_of_one_model, name, model, seed, size))


def _of_one_model(name: str, model: ServedModel, seed: int, size: Size) -> dict[str, dict[str, dict[str, float]]]:
    """By share of unknown features."""
    table, (_, kind, epochs) = paper_table(name), model
    rows = split_rows(table, seed, SPLIT, size.most)
    served_model = trained(kind, table, rows, seed, epochs=epochs)
    return {str(share): measure(table, rows, served_model, share, seed) for share in size.shares}


def measure(table: PaperTable, rows: Rows, model: Model, share: float, seed: int) -> dict[str, dict[str, float]]:
    """Figures by method: error, CPU time and, on a forest, the rate of true branches."""
    served = serve(table, rows.predict, target_columns(table, seed, share), model, SETTINGS, seed=seed)
    found = {attack.name: scored(served, attack) for attack in (GenerativeRegressionNetwork(), PosteriorInference())}
    rng = public_stream(seed, "guess", table.name)
    for name, error in reference_errors(served.hidden, rng).items():
        found[name] = {"mse": error}
    if isinstance(model, ForestModel):
        found[UNIFORM]["cbr"] = _branching(served, rng.random(served.hidden.values.shape))
    return found


def scored(served: Served, attack: Attack) -> dict[str, float]:
    attempt = served.attempt(attack)
    found = {"mse": float(served.errors(attempt.guess).mean()), CPU: attempt.cpu_seconds}
    if isinstance(served.model, ForestModel):
        found["cbr"] = _branching(served, attempt.guess.values)
    return found


def _branching(served: Served, hidden: np.ndarray) -> float:
    """Share of nodes of target columns, on the true paths of all trees, where the guess turns as the truth does."""
    model = served.model
    assert isinstance(model, ForestModel)
    target = model.positions(served.target)
    rate = branching(model, served.inputs, served.full_rows(hidden), target).rate
    return float("nan") if rate is None else rate


def _rows(table: PaperTable, kind: str, share: float, trials: Sequence[dict[str, dict[str, float]]]) -> Iterator[Row]:
    baseline = float(np.mean([trial[UNIFORM]["mse"] for trial in trials]))
    for method in trials[0]:
        figures = [name for name in ("mse", "cbr", CPU) if name in trials[0][method]]
        measured = Summary({})
        for figure in figures:
            measured |= student_95(figure, [trial[method][figure] for trial in trials])
        if method == PosteriorInference.name:  # trial by trial: the columns of a trial move both errors alike
            gains = [trial[GenerativeRegressionNetwork.name]["mse"] - trial[method]["mse"] for trial in trials]
            measured |= student_95("mse_below_generative", gains)
        setting: dict[str, ScalarValue] = {"data": table.name, "model": kind, "unknown share": share, "method": method}
        yield Row(setting, measured.figures, None, {"mse": baseline}, bands=measured.bands)
