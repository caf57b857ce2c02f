"""Two reports beside each other: which leaks closed, which opened, which moved.

A leak is a question here, what one adversary learns of one secret under one defense, by whatever attack. An attack that
gave up is no leak that closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from fedleak.core.defended import Aim, Fate, aim, fate
from fedleak.core.finding import Finding, Mode
from fedleak.core.report import FILE_DIGEST, Report
from fedleak.report.cases import worst_leak
from fedleak.report.numbers import percent
from fedleak.report.wording import owned, share_learned, who

Question = tuple[Aim, str | None]
MOVED_BY = 0.01  # of the secret; less is luck as a rule


class Change(StrEnum):
    OPENED = "opened"
    WORSE = "worse"
    UNKNOWN = "unknown"  # it leaked, and what would tell gave no answer or was not asked
    BETTER = "better"  # still a leak
    CLOSED = "closed"
    SAME = "same"


@dataclass(frozen=True)
class Changed:
    question: Question
    change: Change
    before: str  # what leaked then; empty where nothing did
    after: str

    @property
    def words(self) -> str:
        (adversary, mode, secret), defense = self.question
        by = who(adversary) + (", deviating" if mode is Mode.ACTIVE else "")
        under = f", with {defense}" if defense else ""
        return f"{by}: {owned(secret)}{under} ({self.before or 'no leak shown'} -> {self.after or 'no leak shown'})"

    def to_json(self) -> dict[str, object]:
        (adversary, mode, secret), defense = self.question
        return {
            "change": self.change.value,
            "adversary": list(adversary),
            "mode": mode.value,
            "secret": str(secret),
            "defense": defense,
            "before": self.before or None,
            "after": self.after or None,
        }


@dataclass(frozen=True)
class Difference:
    changes: tuple[Changed, ...]  # the gravest first
    warning: str = ""  # that two tables are compared, where that is seen

    def of(self, change: Change) -> tuple[Changed, ...]:
        return tuple(one for one in self.changes if one.change is change)

    def in_words(self) -> str:
        counted = Counter(one.change for one in self.changes)
        return ", ".join(f"{counted[change]} {change.value}" for change in Change if counted[change]) or "no leaks"

    def to_json(self) -> dict[str, object]:
        counts = {change.value: len(self.of(change)) for change in Change}
        changes = [one.to_json() for one in self.changes]
        return {"schema_version": 1, "counts": counts, "changes": changes, "warning": self.warning or None}


def difference(before: Report, after: Report) -> Difference:
    """Of every question that leaks in one of the two."""
    old, new = _asked(before.findings), _asked(after.findings)
    leaking = [key for asked in (old, new) for key, found in asked.items() if any(f.is_shown for f in found)]
    found = [_changed(key, old.get(key, []), new.get(key, [])) for key in dict.fromkeys(leaking)]
    order = list(Change)
    return Difference(tuple(sorted(found, key=lambda one: order.index(one.change))), _other_table(before, after))


def _other_table(before: Report, after: Report) -> str:
    """By the file, where both name one: columns and rows that are left out of it are a change to compare."""
    old, new = (report.environment.get(FILE_DIGEST) for report in (before, after))
    if old is None or new is None or old == new:
        return ""
    return "the two audits read different files: parties and columns of one name may be others"


def _asked(findings: Sequence[Finding]) -> dict[Question, list[Finding]]:
    grouped: dict[Question, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault((aim(finding), finding.defense), []).append(finding)
    return grouped


def _changed(question: Question, before: Sequence[Finding], after: Sequence[Finding]) -> Changed:
    return Changed(question, _change(before, after), _leak(before), _leak(after))


def _change(before: Sequence[Finding], after: Sequence[Finding]) -> Change:
    leaks = [finding for finding in before if finding.is_shown]
    if not leaks:
        return Change.OPENED
    became = fate(leaks, after)
    if became in (Fate.STOPPED, Fate.RULED_OUT):
        return Change.CLOSED
    if became is Fate.UNANSWERED:
        return Change.UNKNOWN
    old, new = _weight(before), _weight(after)
    if old[0] == new[0] and abs(old[1] - new[1]) < MOVED_BY:
        return Change.SAME
    return Change.WORSE if new > old else Change.BETTER


def _weight(findings: Sequence[Finding]) -> tuple[int, float]:
    worst = worst_leak(findings)
    assert worst is not None
    return worst.severity, share_learned(worst) or 0.0


def _leak(findings: Sequence[Finding]) -> str:
    worst = worst_leak(findings)
    if worst is None:
        return ""
    share = share_learned(worst)
    return f"{worst.severity.label}{'' if share is None else f', {percent(share)}'}"
