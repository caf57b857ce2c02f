"""What the model is worth: its figures beside those of a guess that looks at no column, and what defenses cost it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from fedleak.core.report import Report, RunSummary
from fedleak.report.numbers import figure, metric_words

WORTH = ("test_accuracy", "accuracy")  # what a model is judged by, the best first
# Whether it learnt anything: a measure that a rare class cannot hide in, on rows that it has not seen if there are any.
LEARNT = ("test_balanced_accuracy", "test_r2", "train_balanced_accuracy", "train_r2", *WORTH, "train_accuracy")
MARGIN = 0.05  # a lead of less than this over the blind guess is none to judge a cost by
NO_JUDGE = "what defenses cost cannot be judged on it"


@dataclass(frozen=True)
class UtilityChange:
    metric: str
    without: float
    with_defense: float
    baseline: float | None = None  # of a guess that looks at no column
    worthless: str = ""  # what the model under the defense is no better than; empty where it is better

    @property
    def loss(self) -> float:
        return self.without - self.with_defense

    def words(self) -> str:
        before, after = figure(self.metric, self.without), figure(self.metric, self.with_defense)
        named = metric_words(self.metric)
        change = f"stays at {after}" if before == after else f"goes from {before} to {after}"
        blind = "" if self.baseline is None else f" ({figure(self.metric, self.baseline)} blindly)"
        return f"the model's {named} {change}{blind}" + (f", {self.worthless}" if self.worthless else "")


def honest_run(report: Report, defense: str | None) -> RunSummary | None:
    """The run in which nobody deviates: the model that the federation would get."""
    return next((run for run in report.runs if run.defense == defense and run.deviation is None), None)


def main_utility(run: RunSummary) -> str | None:
    """The figure that stands for the model's worth: its accuracy on rows it has not seen, if it is there."""
    preferred = [name for name in WORTH if name in run.utility]
    return next(iter([*preferred, *run.utility]), None)


def utility_change(report: Report, defense: str) -> UtilityChange | None:
    before, after = honest_run(report, None), honest_run(report, defense)
    if before is None or after is None:
        return None
    metric = main_utility(before)
    if metric is None or metric not in after.utility:
        return None
    lost = "" if no_better_than(before) else no_better_than(after)
    return UtilityChange(metric, before.utility[metric], after.utility[metric], after.baselines.get(metric), lost)


def no_better_than(run: RunSummary) -> str:
    """``no better than always saying the majority class``; empty where the model is, or nobody can tell."""
    metric = next((name for name in LEARNT if name in run.utility and name in run.baselines), None)
    if metric is None or not isfinite(run.utility[metric]):
        return ""
    lead = run.utility[metric] - run.baselines[metric]
    if lead > MARGIN:
        return ""
    blind = "the mean" if metric.endswith("r2") else "the majority class"
    return f"{'no' if lead <= 0 else 'hardly'} better than always saying {blind}"


def worth_warning(report: Report) -> str:
    """Where the model without a defense is worth nothing, it says so; else empty."""
    run = honest_run(report, None)
    worthless = no_better_than(run) if run is not None else ""
    return f"The model is {worthless}: {NO_JUDGE}." if worthless else ""


def with_baseline(run: RunSummary, metric: str) -> str:
    """``96.5 % (62.7 %)``: the figure, and that of the blind guess where there is one."""
    shown = figure(metric, run.utility.get(metric))
    blind = run.baselines.get(metric)
    return shown if blind is None else f"{shown} ({figure(metric, blind)})"
