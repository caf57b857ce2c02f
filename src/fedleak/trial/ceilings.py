"""What theory allows any attack, put beside what one reached; and what to say where the two contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fedleak.core.ceiling import Budget, Ceiling
from fedleak.core.facts import Facts
from fedleak.core.finding import Finding, Outcome, Score, Severity
from fedleak.metrics.measured_epsilon import measured_epsilon
from fedleak.metrics.metric import Answered
from fedleak.protocols.linear.vocabulary import LinearFacts
from fedleak.theory.noise_ceilings import LabelCeiling, accuracy_ceiling, area_ceiling, label_ceiling
from fedleak.trial.canaries import pooled

AREA = "auc"
BEYOND = 2.0  # times the lower half of a 95 % interval: an attack at the ceiling is above it half of the time
ABOVE = "theory allows no attack what this one reached: a condition of the ceiling is not what it seems"


def with_ceiling(finding: Finding, facts: Facts, canaries: Sequence[Answered]) -> Finding:
    """A ceiling is on what the transcript says about a row; where that was not told apart from what any model predicts,
    there is nothing to hold it against."""
    score = finding.recovery
    if score is None:
        return finding
    found = replace(finding, ceiling=_ceiling(score, facts), budget=_budget(facts, canaries))
    if found.ceiling is not None and _is_above(score, found.ceiling):
        return replace(found, outcome=Outcome.ERRORED, severity=Severity.NONE, why=f"{ABOVE} ({found.ceiling.words})")
    return _with_broken_budget(found)


def _ceiling(score: Score, facts: Facts) -> Ceiling | None:
    separation = label_ceiling(facts)
    if separation is None or score.metric != AREA:
        return None
    area, right = area_ceiling(separation), accuracy_ceiling(separation.one)
    words = f"no attack can reach more than {area:.3f}, or tell more than {right:.1%} of equally likely labels right"
    return Ceiling(AREA, area, words, LabelCeiling.assess(facts).reasons)


def _is_above(score: Score, ceiling: Ceiling) -> bool:
    return score.value - BEYOND * (score.value - score.ci[0]) > ceiling.value


def _budget(facts: Facts, canaries: Sequence[Answered]) -> Budget | None:
    own = facts.of(LinearFacts)
    if own.epsilon is None or own.delta is None or not canaries:
        return None
    measured = measured_epsilon(pooled(canaries), delta=own.delta)
    return None if measured is None else Budget(own.epsilon, own.delta, measured)


def _with_broken_budget(finding: Finding) -> Finding:
    budget = finding.budget
    if budget is None or budget.measured_epsilon <= budget.epsilon:
        return finding
    told = f"the declared epsilon of {budget.epsilon:g} is not kept: it is at least {budget.measured_epsilon:.3g}"
    return replace(finding, why=f"{finding.why} ({told})" if finding.why else told)
