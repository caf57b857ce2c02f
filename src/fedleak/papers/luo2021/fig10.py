"""Fig. 10: the error of each feature beside its correlation with own features and with the predictions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.attacks.features.equality_bayes import EqualityBayes
from fedleak.attacks.features.generative_regression import GenerativeRegressionNetwork
from fedleak.audit.progress import Progress
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.metrics.column_correlation import mean_absolute_correlation
from fedleak.metrics.error_by_correlation import rank_correlation
from fedleak.metrics.squared_error import squared_errors
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.luo2021.fig5 import logistic
from fedleak.papers.luo2021.models import SETTINGS, SPLIT
from fedleak.papers.luo2021.tables import paper_table
from fedleak.papers.luo2021.trial import serve, split_rows, target_columns

CASES = (("bank", 0.4), ("credit", 0.3))


class Fig10(Experiment):
    name = "luo2021/fig10"
    summary = "error of each feature beside the correlations of eq. 16 and 17, and how the three go together"
    reference = Reference("luo2021", "fig. 10")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        progress.begin(self.name, len(CASES))
        for name, share in CASES:
            table = paper_table(name)
            (seed,) = self.seeds(quick=quick)
            rows = split_rows(table, seed, SPLIT, (4000, 1000, 300 if quick else 3000))
            model = logistic(table, rows)
            served = serve(table, rows.predict, target_columns(table, seed, share), model, SETTINGS, seed=seed)
            own = np.setdiff1d(np.arange(len(model.columns)), model.positions(served.target))
            with_own = mean_absolute_correlation(served.inputs[:, own], served.hidden.values)
            with_output = mean_absolute_correlation(model.confidences(served.inputs), served.hidden.values)
            attacks: tuple[Attack, ...] = (GenerativeRegressionNetwork(), EqualityBayes())
            for attack in attacks:
                error = squared_errors(served.attack(attack, seed).values, served.hidden).mean(axis=0)
                spread = served.hidden.values.var(axis=0)
                for column, figures in zip(
                    served.target, np.column_stack([error, with_own, with_output, spread]), strict=True
                ):
                    setting: dict[str, ScalarValue] = {"data": name, "method": attack.name, "feature": column}
                    names = ("mse", "corr_own_eq16", "corr_output_eq17", "column_variance")
                    yield Row(setting, dict(zip(names, map(float, figures), strict=True)))
                yield _together(name, attack.name, error, with_own, with_output)
            progress.advance()


def _together(name: str, method: str, error: np.ndarray, own: np.ndarray, output: np.ndarray) -> Row:
    """The paper says that weak correlation goes with large error: Spearman's coefficient says how much."""
    measured = {
        "spearman_error_eq16": rank_correlation(error, own),
        "spearman_error_eq17": rank_correlation(error, output),
    }
    setting: dict[str, ScalarValue] = {"data": name, "method": method, "feature": "all"}
    return Row(setting, measured, note="negative: features that correlate more are recovered better")
