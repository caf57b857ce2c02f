"""Beyond the paper: smooth models that can only be asked, which the paper's surrogate was made for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fedleak.attacks.predictions.generative_regression import GenerativeRegressionNetwork
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.core.whole.randomness import public_stream
from fedleak.models.convert import convert
from fedleak.models.model import Model
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.luo2021.served_trial import SPLIT, Rows, Served, serve, split_rows, target_columns
from fedleak.papers.luo2021.tables import PaperTable, paper_table
from fedleak.papers.summaries import student_95
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.trial.progress import Progress

SETTINGS = PredictionSettings(model="opaque")
# Shares at which a row has as many equations as unknowns or more (10 for drive, 4 for news), and one beyond.
SHARES = {"drive": (0.1, 0.2, 0.4), "news": (0.07, 0.2)}
MODELS = ("LR in a function", "LR one-vs-rest", "tanh network", "support vectors")
WITHIN = 0.01  # of the range: a cell counts as recovered


class AskedModels(Experiment):
    name = "luo2021/asked"
    summary = "smooth models that can only be asked: share of cells within 1 % and MSE per feature"
    reference = Reference("fedleak", "beside luo2021, section V-B")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(1 if quick else 5))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        seeds = self.seeds(quick=quick)
        attacks: tuple[Attack, ...] = (GenerativeRegressionNetwork(surrogate_scale=0.25), PosteriorInference())
        progress.begin(self.name, len(SHARES) * len(MODELS))
        for name, shares in SHARES.items():
            table = paper_table(name)
            splits = [split_rows(table, seed, SPLIT, (1500, 0, 60 if quick else 200)) for seed in seeds]
            for kind in MODELS:
                models = [_fitted(kind, table, rows, seed) for rows, seed in zip(splits, seeds, strict=True)]
                for share in shares:
                    served = [
                        serve(table, rows.predict, target_columns(table, seed, share), model, SETTINGS, seed=seed)
                        for rows, model, seed in zip(splits, models, seeds, strict=True)
                    ]
                    yield from (_row(table, kind, share, served, attack) for attack in attacks)
                progress.advance()


def _fitted(kind: str, table: PaperTable, rows: Rows, seed: int) -> Model:
    estimator = _estimator(kind, int(public_stream(seed, "train", kind, table.name).integers(2**31)))
    estimator.fit(table.features[rows.train], table.labels[rows.train])
    return convert(estimator.predict_proba, table.columns)  # a function: nothing of the estimator can be read


def _estimator(kind: str, seed: int) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    logistic = LogisticRegression(max_iter=1000)
    if kind == "LR in a function":
        return logistic
    if kind == "LR one-vs-rest":
        return OneVsRestClassifier(logistic)
    if kind == "tanh network":
        return MLPClassifier((32, 16), activation="tanh", early_stopping=True, max_iter=100, random_state=seed)
    return CalibratedClassifierCV(SVC(), ensemble=False, cv=3)


def _row(table: PaperTable, kind: str, share: float, trials: list[Served], attack: Attack) -> Row:
    attempts = [served.attempt(attack) for served in trials]
    errors = [served.errors(attempt.guess) for served, attempt in zip(trials, attempts, strict=True)]
    measured = student_95("cells_within_1_percent", [float((error <= WITHIN**2).mean()) for error in errors])
    measured |= student_95("mse", [float(error.mean()) for error in errors])
    measured |= {"cpu_seconds": float(np.mean([attempt.cpu_seconds for attempt in attempts]))}
    setting: dict[str, ScalarValue] = {"data": table.name, "model": kind, "unknown share": share}
    setting |= {"d_target": len(trials[0].target), "method": attack.name}
    hidden = [served.hidden.values for served in trials]
    baseline = {
        "mse": float(np.mean([np.mean((values - 0.5) ** 2) for values in hidden])),
        "cells_within_1_percent": float(np.mean([np.mean(np.abs(values - 0.5) <= WITHIN) for values in hidden])),
    }
    note = "d_target <= c - 1" if len(trials[0].target) <= table.n_classes - 1 else ""
    return Row(setting, measured.figures, None, baseline, note, measured.bands)
