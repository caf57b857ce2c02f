"""Fig. 10: the error of each feature beside its correlation with own features and with the predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedleak.attacks.predictions.equality_bayes import EqualityBayes
from fedleak.attacks.predictions.generative_regression import GenerativeRegressionNetwork
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.metrics.error_by_correlation import mean_absolute_correlation, rank_correlation
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.luo2021.served_trial import SETTINGS, SPLIT, logistic, serve, split_rows, target_columns
from fedleak.papers.luo2021.tables import PaperTable, paper_table
from fedleak.papers.summaries import Summary, student_95
from fedleak.trial.progress import Progress

CASES = (("bank", 0.4), ("credit", 0.3))
OWN, OUTPUT = "corr_own_eq16", "corr_output_eq17"
FIGURES = ("mse", OWN, OUTPUT, "column_variance")
ALL = "all"  # the row about all features of a trial together

Trial = dict[str, np.ndarray]  # figures by feature


class Fig10(Experiment):
    name = "luo2021/fig10"
    summary = "error of each feature beside the correlations of eq. 16 and 17, and how the three go together"
    reference = Reference("luo2021", "fig. 10")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else tuple(range(10))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        seeds = self.seeds(quick=quick)
        progress.begin(self.name, len(CASES) * len(seeds))
        for name, share in CASES:
            table = paper_table(name)
            found: dict[str, list[Trial]] = {}
            for seed in seeds:
                for method, trial in _trial(table, share, seed, 300 if quick else 2000).items():
                    found.setdefault(method, []).append(trial)
                progress.advance()
            for method, trials in found.items():
                yield from _features(name, method, trials)
                yield _together(name, method, trials)

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        """One panel a data set and correlation: features from weakly to strongly correlated."""
        features = [row for row in rows if row.setting["feature"] != ALL]
        names = list(dict.fromkeys(str(row.setting["data"]) for row in features))
        methods = list(dict.fromkeys(str(row.setting["method"]) for row in features))
        return tuple(
            Panel(name, label, "MSE of a feature", [_curve(features, name, method, figure) for method in methods])
            for name in names
            for figure, label in ((OWN, "correlation with own features"), (OUTPUT, "correlation with predictions"))
        )


def _trial(table: PaperTable, share: float, seed: int, n_predictions: int) -> dict[str, Trial]:
    """By method: figures of each unknown feature, by its name."""
    rows = split_rows(table, seed, SPLIT, (4000, 1000, n_predictions))
    model = logistic(table, rows)
    served = serve(table, rows.predict, target_columns(table, seed, share), model, SETTINGS, seed=seed)
    own = np.setdiff1d(np.arange(len(model.columns)), model.positions(served.target))
    truth = served.hidden.values
    beside = (
        mean_absolute_correlation(served.inputs[:, own], truth),
        mean_absolute_correlation(model.confidences(served.inputs), truth),
        truth.var(axis=0),
    )
    attacks: tuple[Attack, ...] = (GenerativeRegressionNetwork(), EqualityBayes())
    found = {}
    for attack in attacks:
        error = served.errors(served.attempt(attack).guess).mean(axis=0)
        found[attack.name] = dict(zip(served.target, np.column_stack([error, *beside]), strict=True))
    return found


def _features(name: str, method: str, trials: Sequence[Trial]) -> Iterator[Row]:
    """Each feature, over the trials in which it was unknown."""
    for feature in sorted({feature for trial in trials for feature in trial}):
        hidden = [trial[feature] for trial in trials if feature in trial]
        setting: dict[str, ScalarValue] = {"data": name, "method": method, "feature": feature}
        measured = student_95("mse", [float(figures[0]) for figures in hidden])
        means = np.mean(hidden, axis=0)
        measured |= {figure: float(mean) for figure, mean in zip(FIGURES[1:], means[1:], strict=True)}
        yield Row(setting, measured.figures, note=f"unknown in {len(hidden)} trials", bands=measured.bands)


def _together(name: str, method: str, trials: Sequence[Trial]) -> Row:
    """The paper says that weak correlation goes with large error: Spearman's coefficient, a trial at a time."""
    columns = [np.array(list(trial.values())).T for trial in trials]
    measured = Summary({})
    for figure, position in (("spearman_error_eq16", 1), ("spearman_error_eq17", 2)):
        found = [rank_correlation(of[0], of[position]) for of in columns]
        measured |= student_95(figure, [coefficient for coefficient in found if coefficient is not None])
    setting: dict[str, ScalarValue] = {"data": name, "method": method, "feature": ALL}
    note = "negative: features that correlate more are recovered better"
    return Row(setting, measured.figures, note=note, bands=measured.bands)


def _curve(rows: Sequence[Row], name: str, method: str, figure: str) -> Curve:
    mine = [row.measured for row in rows if row.setting["data"] == name and row.setting["method"] == method]
    points = sorted((float(of[figure] or 0.0), float(of["mse"] or 0.0)) for of in mine)
    return Curve(method, [x for x, _ in points], [y for _, y in points])
