"""Findings in the order in which people ask about them: by adversary, then by attack, then by defense."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fedleak.core.adversary import Secret
from fedleak.core.conclusion import ANSWERED, MEASURED
from fedleak.core.finding import Finding, Mode, Outcome, Severity
from fedleak.report.wording import reason_of, share_recovered


@dataclass(frozen=True, eq=False)
class Case:
    """One attack on one secret by one adversary: its findings without and with each defense."""

    attack: str
    secret: Secret
    findings: tuple[Finding, ...]  # the one without a defense first

    @property
    def has_content(self) -> bool:
        """An answer, or at least a figure or a claim: enough for a card of its own."""
        answers = ANSWERED | {Outcome.UNCHECKED}
        return any(f.outcome in answers or f.score is not None or f.certificate for f in self.findings)

    @property
    def worst(self) -> Severity:
        return max(finding.severity for finding in self.findings)

    def undefended(self) -> Finding | None:
        return next((finding for finding in self.findings if finding.defense is None), None)


@dataclass(frozen=True, eq=False)
class Opponent:
    """An adversary in one mode, with everything that it tried; the worst case first."""

    names: tuple[str, ...]
    mode: Mode
    cases: tuple[Case, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for case in self.cases for finding in case.findings)


@dataclass(frozen=True, eq=False)
class Silence:
    """Findings that are neither a leak nor its absence, and share outcome and reason."""

    outcome: Outcome
    why: str
    findings: tuple[Finding, ...]


def worst_leak(findings: Iterable[Finding]) -> Finding | None:
    """The gravest leak, measured or proved; the one without a defense where two are equal."""
    return max((finding for finding in findings if finding.is_shown), key=gravity, default=None)


def gravity(finding: Finding) -> tuple[int, bool, float]:
    share = share_recovered(finding)
    return finding.severity, finding.defense is None, share if share is not None else 0.0


def opponents(findings: Iterable[Finding]) -> tuple[Opponent, ...]:
    grouped: dict[tuple[tuple[str, ...], Mode], list[Finding]] = {}
    for finding in findings:
        grouped.setdefault((finding.adversary, finding.mode), []).append(finding)
    return tuple(Opponent(names, mode, _cases(members)) for (names, mode), members in grouped.items())


def silences(findings: Iterable[Finding]) -> tuple[Silence, ...]:
    """Every finding that is neither leak nor no_leak, by its reason: none of them is a zero."""
    grouped: dict[tuple[Outcome, str], list[Finding]] = {}
    for finding in findings:
        if finding.outcome not in MEASURED and not finding.is_proved:
            grouped.setdefault((finding.outcome, reason_of(finding)), []).append(finding)
    order = list(Outcome)
    keys = sorted(grouped, key=lambda key: order.index(key[0]))
    return tuple(Silence(outcome, why, tuple(grouped[outcome, why])) for outcome, why in keys)


def _cases(findings: Iterable[Finding]) -> tuple[Case, ...]:
    grouped: dict[tuple[str, Secret], list[Finding]] = {}
    for finding in findings:
        grouped.setdefault((finding.attack, finding.secret), []).append(finding)
    cases = [
        Case(attack, secret, tuple(sorted(members, key=lambda finding: finding.defense is not None)))
        for (attack, secret), members in grouped.items()
    ]
    return tuple(sorted(cases, key=_urgency, reverse=True))


def _urgency(case: Case) -> tuple[int, int, bool]:
    first = case.findings[0]
    return case.worst, first.severity, case.has_content
