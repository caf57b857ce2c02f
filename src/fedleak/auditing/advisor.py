"""What to change, from what the audit found and what the theory says."""

from __future__ import annotations

from collections.abc import Sequence

from fedleak.auditing.planner import Task
from fedleak.core.adversary import Secret
from fedleak.core.finding import Finding, Outcome
from fedleak.core.report import Remedy
from fedleak.theory import THEOREMS
from fedleak.theory.condition import State

STOPPED = (Outcome.NO_LEAK, Outcome.NOT_IDENTIFIABLE)


def advice(findings: Sequence[Finding], tasks: Sequence[Task]) -> tuple[Remedy, ...]:
    """Defenses that were seen to work, those that were seen not to, and changes that break a theorem."""
    bare = [finding for finding in findings if finding.defense is None and finding.outcome is Outcome.LEAK]
    pairs = [(leak, other) for leak in bare for other in findings if other.defense and _same_attempt(leak, other)]
    worked = [_effect(leak, other) for leak, other in pairs if other.outcome in STOPPED]
    failed = [_effect(leak, other) for leak, other in pairs if other.outcome is Outcome.LEAK]
    return tuple(dict.fromkeys([*worked, *map(Remedy, remedies(tasks)), *failed]))


def remedies(tasks: Sequence[Task]) -> tuple[str, ...]:
    """Changes that break a condition of a theorem that holds against some adversary."""
    lines: dict[str, None] = {}
    for task in {id(task.facts): task for task in tasks}.values():  # attacks of one adversary share their facts
        for theorem in THEOREMS:
            assessment = theorem.assess(task.facts)
            if assessment.state is State.HOLDS and assessment.remedy:
                who = " and ".join(task.adversary.parties)
                holds = f"Against {who}, {theorem.name} holds ({assessment.conclusion})."
                lines[f"{holds} To break it: {assessment.remedy}."] = None
    return tuple(lines)


def _same_attempt(one: Finding, other: Finding) -> bool:
    def key(finding: Finding) -> tuple[tuple[str, ...], str, str, Secret]:
        return finding.adversary, finding.mode.value, finding.attack, finding.secret

    return key(one) == key(other)


def _effect(leak: Finding, defended: Finding) -> Remedy:
    return Remedy(_sentence(leak, defended), defended.defense)


def _sentence(leak: Finding, defended: Finding) -> str:
    name = f"{leak.attack} by {' and '.join(leak.adversary)} on {leak.secret}"
    if leak.score is None or defended.score is None:
        return f"{defended.defense}: {name} ends as {defended.outcome.value}."
    before, after = leak.score, defended.score
    change = f"{before.metric} from {before.value:.3f} to {after.value:.3f}, baseline {after.baseline:.3f}"
    verdict = "still leaks under" if defended.outcome is Outcome.LEAK else "is stopped by"
    return f"{name} {verdict} {defended.defense} ({change})."
