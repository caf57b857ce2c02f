"""Fig. 9: the attack on many predictions, by how many predictions there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from fedleak.papers.summaries import student_95
from fedleak.trial.progress import Progress

DATA = ("synthetic1", "synthetic2", "drive", "news")
N_SHARES = (0.1, 0.3, 0.5)  # of the pool of rows, as in the paper
SPLIT = (0.4, 0.1, 0.5)
SHARE = 0.4


class Fig9(Experiment):
    name = "luo2021/fig9"
    summary = "generative regression on LR: MSE per feature by the number of predictions"
    reference = Reference("luo2021", "fig. 9")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else tuple(range(10))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        seeds = self.seeds(quick=quick)
        pool = 600 if quick else 2000  # rows that stand for the whole data set; drive has hardly more
        progress.begin(self.name, len(DATA) * len(N_SHARES))
        for name in DATA:
            table = paper_table(name)
            models = [logistic(table, split_rows(table, seed, SPLIT, (4000, 1000, 0))) for seed in seeds]
            for n_share in N_SHARES:
                n_predictions = int(n_share * pool)
                found: dict[str, list[float]] = {}
                for seed, model in zip(seeds, models, strict=True):
                    # The same random order at every number, so that fewer predictions are a part of more.
                    rows = split_rows(table, seed, SPLIT, (4000, 1000, n_predictions)).predict
                    served = serve(table, rows, target_columns(table, seed, SHARE), model, SETTINGS, seed=seed)
                    attacks: tuple[Attack, ...] = (GenerativeRegressionNetwork(), PosteriorInference())
                    for attack in attacks:
                        found.setdefault(attack.name, []).append(served.mse(attack))
                    guess = reference_errors(served.hidden, public_stream(seed, "guess", name))[UNIFORM]
                    found.setdefault(UNIFORM, []).append(guess)
                progress.advance()
                for method, errors in found.items():
                    setting: dict[str, ScalarValue] = {"data": name, "predictions": n_predictions}
                    setting |= {"method": method}
                    measured = student_95("mse", errors)
                    baseline = {"mse": float(np.mean(found[UNIFORM]))}
                    yield Row(setting, measured.figures, None, baseline, bands=measured.bands)

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        return panels_by(rows, "data", "predictions", "method", "mse", y_label="MSE per feature")
