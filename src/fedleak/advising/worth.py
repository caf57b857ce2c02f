"""What a run's model is worth to those who train or ask it: one figure beside that of a blind guess."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from fedleak.core.report import RunSummary
from fedleak.report.model_beside_guess import main_utility, no_better_than
from fedleak.report.numbers import figure, metric_words

SERVED, RELEASED = (
    "prediction_accuracy",
    "released_share",
)  # of predictions: what is right, and what is given out at all

SERVED_SHARE = "prediction_share"  # the setting that says how many rows are predicted, where there is one
HELD_OUT = ("test_accuracy", "accuracy", "test_r2")  # on rows that the model has not seen, if there are any


@dataclass(frozen=True)
class Worth:
    metric: str
    value: float
    baseline: float | None  # always the majority class, or the mean
    worthless: str = ""  # what the model is no better than; empty where it is better

    def words(self) -> str:
        blind = "" if self.baseline is None else f" ({figure(self.metric, self.baseline)} blindly)"
        return f"{metric_words(self.metric)} {figure(self.metric, self.value)}{blind}"


def worth_of(utility: Mapping[str, float], baselines: Mapping[str, float], served: float = 1.0) -> Worth | None:
    """A prediction that is withheld, or that is not made any more, counts as a blind guess: that is all that is left to
    who asked for it. ``served``: predictions that are made, by as many as there were before the change."""
    run = RunSummary(None, None, utility, 0.0, baselines=baselines)
    released = utility.get(RELEASED)
    named = next((name for name in HELD_OUT if name in utility), None)
    metric = SERVED if released is not None else named or main_utility(run)
    if metric is None:
        return None
    baseline = baselines.get(metric)
    value = utility.get(metric, baseline)
    if value is None or not isfinite(value):
        return None
    if released is not None and baseline is not None:
        value = baseline + released * min(served, 1.0) * (value - baseline)
    nothing = "no better than a blind guess: no prediction is given out" if released == 0 else ""
    return Worth(metric, value, baseline, nothing or no_better_than(run))
