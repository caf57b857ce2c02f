"""Who learns what about whom, a line a question, in words that need no glossary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fedleak.core.adversary import SecretKind
from fedleak.core.defended import by_aim
from fedleak.core.finding import ColumnResult, Finding, Mode, Outcome
from fedleak.report.cases import gravity
from fedleak.report.numbers import figure, metric_words, percent
from fedleak.report.wording import (
    beyond_luck_words,
    outcome_words,
    owner_words,
    part_recovered,
    share_learned,
    what_plainly,
    who,
)

ORDER = (Outcome.LEAK, Outcome.NO_LEAK, Outcome.NOT_IDENTIFIABLE, Outcome.UNCHECKED, Outcome.ERRORED)
MOST_OF_IT = 0.5  # below, what luck would bring about says more
N_WORST = 8  # columns that a page names
SILENT = {
    Outcome.NO_LEAK: "no more than a guess, by what was tried",
    Outcome.NOT_IDENTIFIABLE: "not found: several answers fit what it saw",
    Outcome.UNDETERMINED: "not known: no attack came to an answer",
    Outcome.UNCHECKED: "an answer that nothing here can check",
    Outcome.ERRORED: "not known: the attack failed",
}


@dataclass(frozen=True, eq=False)
class Line:
    """``finding`` is what answers the question."""

    who: str
    about: str
    what: str
    learns: str
    finding: Finding


@dataclass(frozen=True, eq=False)
class WorstColumn:
    owner: str
    who: str
    column: ColumnResult
    finding: Finding


def answers(findings: Iterable[Finding]) -> list[Finding]:
    """Of each question without a defense what answers it: the gravest leak, else what comes nearest to an answer; the
    gravest first."""
    tried = [finding for finding in findings if finding.defense is None and finding.outcome is not Outcome.SKIPPED]
    found = [max(members, key=_weight) for members in by_aim(tried).values()]
    return sorted(found, key=gravity, reverse=True)


def _weight(finding: Finding) -> tuple[bool, int, bool, float]:
    place = ORDER.index(finding.outcome) if finding.outcome in ORDER else len(ORDER)
    severity, undefended, share = gravity(finding)
    return finding.is_shown, severity if finding.is_shown else -place, undefended, share


def matrix(findings: Sequence[Finding]) -> tuple[Line, ...]:
    return tuple(_line(finding) for finding in answers(findings))


def _line(finding: Finding) -> Line:
    by = who(finding.adversary) + (", breaking the rules" if finding.mode is Mode.ACTIVE else "")
    return Line(by, owner_words(finding.secret), what_plainly(finding.secret.kind), learnt_words(finding), finding)


def learnt_words(finding: Finding) -> str:
    """``the label of every record``; ``83 % of the values, to within 1 % of the range``."""
    if not finding.is_shown:
        return SILENT.get(finding.outcome, outcome_words(finding))
    if finding.is_proved:
        return "proved by what was sent, without the truth at hand"
    share = share_learned(finding)
    if share is not None and finding.secret.kind is SecretKind.LABELS:
        return "the label of every record" if share >= 1 else f"the label of {percent(share)} of the records"
    if share is not None and share == finding.cells_recovered and (share >= MOST_OF_IT or part_recovered(finding)):
        return f"{'every value' if share >= 1 else f'{percent(share)} of the values'}, to within 1 % of the range"
    score = finding.score
    if score is None:
        return outcome_words(finding)
    if words := beyond_luck_words(finding):
        return words
    better, blind = figure(score.metric, score.value), figure(score.metric, score.baseline)
    return f"more than a guess: {metric_words(score.metric)} {better}, where a guess has {blind}"


def worst_columns(findings: Sequence[Finding]) -> tuple[WorstColumn, ...]:
    """Columns that leak without a defense, each as the adversary has it that learns most of it; the worst first."""
    found: dict[tuple[str, str], WorstColumn] = {}
    for finding in answers(findings):
        for column in _leaking(finding):
            one = WorstColumn(owner_words(finding.secret), who(finding.adversary), column, finding)
            key = one.owner, column.column
            if key not in found or _learnt(one) > _learnt(found[key]):
                found[key] = one
    return tuple(sorted(found.values(), key=_learnt, reverse=True)[:N_WORST])


def _leaking(finding: Finding) -> tuple[ColumnResult, ...]:
    """Of a secret that is one column, such as labels, that one: it is not tested apart from the secret."""
    if finding.outcome is not Outcome.LEAK:
        return ()
    tested = tuple(column for column in finding.columns if column.leaks)
    return tested or (finding.columns if len(finding.columns) == 1 else ())


def _learnt(one: WorstColumn) -> tuple[int, float]:
    score = one.finding.score
    learnt = score.learnt if one.column.learnt is None and score is not None else one.column.learnt
    return one.finding.severity, learnt or 0.0
