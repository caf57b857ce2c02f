"""What each defense changed: the leaks that are no longer found, and what that costs the model."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.finding import Finding, Outcome
from fedleak.core.report import Report, RunSummary
from fedleak.report.cases import aim, opponents, worst_leak
from fedleak.report.numbers import figure, metric_words
from fedleak.report.wording import ANSWERS

WORTH = ("test_accuracy", "accuracy")  # what a model is judged by, the best first


@dataclass(frozen=True)
class UtilityChange:
    metric: str
    without: float
    with_defense: float

    def words(self) -> str:
        before, after = figure(self.metric, self.without), figure(self.metric, self.with_defense)
        if before == after:
            return f"the model's {metric_words(self.metric)} stays at {after}"
        return f"the model's {metric_words(self.metric)} goes from {before} to {after}"


@dataclass(frozen=True)
class Effect:
    defense: str
    n_tried: int  # leaks of the undefended run that the defense was tried on
    n_stopped: int
    n_weakened: int  # still a leak, of lower severity
    n_unanswered: int  # the attack gave no answer under the defense: neither stopped nor left
    n_new: int  # leaks under the defense where there was none before
    utility: UtilityChange | None

    @property
    def n_left(self) -> int:
        return self.n_tried - self.n_stopped - self.n_weakened - self.n_unanswered

    @property
    def helps(self) -> bool:
        return self.n_stopped + self.n_weakened > 0

    def words(self) -> str:
        """One sentence, without the defense's name, which comes before it."""
        parts = [self._leak_words()]
        if self.n_left and self.helps:
            parts.append(f"{self.n_left} {'stays' if self.n_left == 1 else 'stay'} as bad as before")
        if self.n_unanswered:
            parts.append(f"{self.n_unanswered} gave no answer, which is not a success")
        if self.n_new:
            parts.append(f"{self.n_new} appeared that had not been there before")
        if self.utility is not None:
            parts.append(self.utility.words())
        return "; ".join(parts)

    def _leak_words(self) -> str:
        if self.n_tried == 0:
            return "was not tried on any leak"
        if self.n_tried == 1:
            return "stops the one leak that it was tried on" if self.n_stopped else self._one_leak_words()
        verbs = [f"stops {self.n_stopped}"] if self.n_stopped else []
        verbs += [f"weakens {self.n_weakened}"] if self.n_weakened else []
        return f"{' and '.join(verbs) or 'stops none'} of the {self.n_tried} leaks that it was tried on"

    def _one_leak_words(self) -> str:
        verb = "weakens, but does not stop," if self.n_weakened else "does not stop"
        return f"{verb} the one leak that it was tried on"


def effects(report: Report) -> tuple[Effect, ...]:
    """One for each defense, in the order in which they appear."""
    return tuple(_effect(report, defense) for defense in defenses(report))


def best_effect(report: Report, worst: Finding) -> Effect | None:
    """The defense under which the worst leak's secret is no longer had, then the one that stops most leaks.

    None where no defense helps at all.
    """

    def merit(effect: Effect) -> tuple[bool, int, int, float]:
        protects = remaining_leak(report, effect.defense, worst) is None
        return protects, effect.n_stopped, effect.n_weakened, -_loss(effect)

    return max((effect for effect in effects(report) if effect.helps), key=merit, default=None)


def remaining_leak(report: Report, defense: str, worst: Finding) -> Finding | None:
    """The gravest leak of the same secret to the same adversary that is left under a defense, by any attack."""
    return worst_leak(f for f in report.findings if f.defense == defense and aim(f) == aim(worst))


def defenses(report: Report) -> tuple[str, ...]:
    named = [finding.defense for finding in report.findings] + [run.defense for run in report.runs]
    return tuple(dict.fromkeys(name for name in named if name is not None))


def honest_run(report: Report, defense: str | None) -> RunSummary | None:
    """The run in which nobody deviates: the model that the federation would get."""
    return next((run for run in report.runs if run.defense == defense and run.deviation is None), None)


def main_utility(run: RunSummary) -> str | None:
    """The figure that stands for the model's worth: its accuracy on rows it has not seen, if it is there."""
    preferred = [name for name in WORTH if name in run.utility]
    return next(iter([*preferred, *run.utility]), None)


def _effect(report: Report, defense: str) -> Effect:
    tried = stopped = weakened = unanswered = new = 0
    for opponent in opponents(report.findings):
        for case in opponent.cases:
            before = case.undefended()
            after = next((finding for finding in case.findings if finding.defense == defense), None)
            if before is None or after is None:
                continue
            leaks = after.outcome is Outcome.LEAK
            if before.outcome is not Outcome.LEAK:
                new += leaks
                continue
            tried += 1
            stopped += after.outcome in ANSWERS and not leaks
            weakened += leaks and after.severity < before.severity
            unanswered += after.outcome not in ANSWERS
    return Effect(defense, tried, stopped, weakened, unanswered, new, _utility_change(report, defense))


def _utility_change(report: Report, defense: str) -> UtilityChange | None:
    before, after = honest_run(report, None), honest_run(report, defense)
    if before is None or after is None:
        return None
    metric = main_utility(before)
    if metric is None or metric not in after.utility:
        return None
    return UtilityChange(metric, before.utility[metric], after.utility[metric])


def _loss(effect: Effect) -> float:
    return 0.0 if effect.utility is None else effect.utility.without - effect.utility.with_defense
