"""What became of each leak under a defense, question by question: who is after what, by whatever attack.

An attack that gives up is not a leak that was stopped, and a leak that goes on by another attack is none either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from fedleak.core.adversary import Secret
from fedleak.core.attack import Verdict
from fedleak.core.conclusion import ANSWERED
from fedleak.core.finding import Finding, Mode, Outcome

Aim = tuple[tuple[str, ...], Mode, Secret]


class Fate(StrEnum):
    STOPPED = "stopped"  # nothing leaks, and every attack that leaked was measured or refuted by the view
    RULED_OUT = "ruled_out"  # nothing leaks, and the attacks that leaked have nothing to work on, by a theorem
    WEAKENED = "weakened"  # still a leak, of lower severity
    LEFT = "left"
    UNANSWERED = "unanswered"  # an attack that leaked gave up, failed or was not run: who knows


def aim(finding: Finding) -> Aim:
    """Who is after what, by whatever attack."""
    return finding.adversary, finding.mode, finding.secret


def by_aim(findings: Iterable[Finding]) -> dict[Aim, list[Finding]]:
    grouped: dict[Aim, list[Finding]] = {}
    for finding in findings:
        grouped.setdefault(aim(finding), []).append(finding)
    return grouped


def fates(findings: Sequence[Finding], defense: str) -> Mapping[Aim, Fate]:
    """Of every question that leaks without a defense and was asked under this one."""
    bare = by_aim(finding for finding in findings if finding.defense is None and finding.is_shown)
    under = by_aim(finding for finding in findings if finding.defense == defense)
    return {question: fate(leaks, under[question]) for question, leaks in bare.items() if question in under}


def fate(leaks: Sequence[Finding], defended: Sequence[Finding]) -> Fate:
    """``leaks`` without the defense; ``defended``, every attack on the same question under it."""
    left = [finding.severity for finding in defended if finding.is_shown]
    if left:
        return Fate.WEAKENED if max(left) < max(leak.severity for leak in leaks) else Fate.LEFT
    leaked = {leak.attack for leak in leaks}
    again = [finding for finding in defended if finding.attack in leaked]
    answered = [finding for finding in again if finding.outcome in ANSWERED]
    if len(again) < len(leaked) or any(not (f.outcome in ANSWERED or is_ruled_out(f)) for f in again):
        return Fate.UNANSWERED
    return Fate.STOPPED if answered else Fate.RULED_OUT


def is_ruled_out(finding: Finding) -> bool:
    """Not run, since by a theorem it has nothing to work on."""
    return finding.outcome is Outcome.SKIPPED and finding.theory.verdict == Verdict.IMPOSSIBLE


def appeared(findings: Sequence[Finding], defense: str) -> int:
    """Questions that leak under the defense and did not without it."""
    bare = by_aim(finding for finding in findings if finding.defense is None)
    leaking = {aim(finding) for finding in findings if finding.defense == defense and finding.is_shown}
    return sum(question in bare and not any(f.is_shown for f in bare[question]) for question in leaking)
