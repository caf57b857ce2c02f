"""What all findings come to: a leak, none found, or not known.

One function decides, for the banner of every form of a report and for the exit code: what is not known is never green.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fedleak.core.attack import Verdict
from fedleak.core.finding import Finding, Outcome

MEASURED = frozenset({Outcome.LEAK, Outcome.NO_LEAK})  # the others are neither, and none of them is a zero
ANSWERED = MEASURED | {Outcome.NOT_IDENTIFIABLE}


class Level(StrEnum):
    LEAK = "leak"
    NO_LEAK = "no_leak"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Conclusion:
    """``missing`` has a clause for each thing that would have to be known and is not; beside a leak too."""

    level: Level
    missing: tuple[str, ...] = ()


def conclude(findings: Sequence[Finding], *, interrupted: bool = False) -> Conclusion:
    """A leak that theory calls impossible is not settled: it is neither red nor green until one of the two is
    corrected, unless something else leaks."""
    missing = (*_unknown(findings), *_failed(findings), *_cut_short(interrupted), *_contradictions(findings))
    if any(finding.is_shown and not contradicts_theory(finding) for finding in findings):
        return Conclusion(Level.LEAK, missing)
    return Conclusion(Level.INCONCLUSIVE if missing else Level.NO_LEAK, missing)


def contradicts_theory(finding: Finding) -> bool:
    """Theory promised the secret and the attack does not have it, or theory ruled out what was measured."""
    if finding.theory.verdict == Verdict.EXACT:
        return finding.outcome in {Outcome.NO_LEAK, Outcome.NOT_IDENTIFIABLE}
    return finding.theory.verdict == Verdict.IMPOSSIBLE and finding.outcome is Outcome.LEAK


def _unknown(findings: Sequence[Finding]) -> list[str]:
    """No measurement at all, a question with undetermined answers alone, or a claim that nothing checks where no other
    attack showed a leak. A question is a secret, who is after it, and under which defense."""
    if not any(finding.outcome in MEASURED or finding.is_proved for finding in findings):
        claims = any(finding.outcome is Outcome.UNCHECKED for finding in findings)
        return ["no truth was given, and no claim is proved" if claims else "not one attack gave a measured outcome"]
    answered = _questions(f for f in findings if f.outcome in ANSWERED or f.is_proved)
    shown = _questions(f for f in findings if f.is_shown)
    undetermined = _questions(f for f in findings if f.outcome is Outcome.UNDETERMINED)
    unchecked = _questions(f for f in findings if f.outcome is Outcome.UNCHECKED)
    return [
        *(f"undetermined is {question}" for question in undetermined if question not in answered),
        *(f"unchecked is {question}" for question in unchecked if question not in shown),
    ]


def _questions(findings: Iterable[Finding]) -> dict[str, None]:
    return dict.fromkeys(_question(finding) for finding in findings)


def _question(finding: Finding) -> str:
    mode = finding.mode.value
    return f"what {' + '.join(finding.adversary)} ({mode}) learns of {finding.secret}{_under(finding)}"


def _failed(findings: Sequence[Finding]) -> list[str]:
    failed = [finding for finding in findings if finding.outcome is Outcome.ERRORED]
    if not failed:
        return []
    names = ", ".join(dict.fromkeys(finding.attack for finding in failed))
    attempts = "1 attempt" if len(failed) == 1 else f"{len(failed)} attempts"
    return [f"{attempts} failed ({names}): what would have been found is not known"]


def _cut_short(interrupted: bool) -> list[str]:
    return ["the audit was interrupted before every attack was tried"] if interrupted else []


def _contradictions(findings: Sequence[Finding]) -> list[str]:
    return [_contradiction(finding) for finding in findings if contradicts_theory(finding)]


def _contradiction(finding: Finding) -> str:
    tried = f"{finding.attack} by {' + '.join(finding.adversary)} on {finding.secret}{_under(finding)}"
    if finding.outcome is Outcome.LEAK:
        return f"theory says that {tried} is impossible, and it leaks: one of the two is wrong"
    return f"theory says that {tried} is exact, and it found nothing: one of the two is wrong"


def _under(finding: Finding) -> str:
    return f" under {finding.defense}" if finding.defense else ""
