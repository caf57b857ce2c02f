"""The sentence on top of a report, and whether theory and measurement agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from fedleak.core.attack import Status, Verdict
from fedleak.core.finding import Finding, Outcome, Severity
from fedleak.core.report import Report
from fedleak.report.cases import Aim, aim, gravity, worst_leak
from fedleak.report.defense_effect import best_effect, defenses, remaining_leak
from fedleak.report.numbers import count, percent
from fedleak.report.wording import (
    ANSWERS,
    DECIDED,
    RECOVERS_FROM,
    is_captured,
    joined,
    leak_sentence,
    owner_words,
    possessive,
    share_learned,
    share_recovered,
    who,
)


class Level(StrEnum):
    LEAK = "leak"
    NO_LEAK = "no_leak"
    INCONCLUSIVE = "inconclusive"


UNMEASURED = "unmeasured"


@dataclass(frozen=True)
class Statement:
    """The top of every report."""

    level: str  # two words before the headline
    tone: str  # its colour: none, low, medium, high, or unmeasured
    headline: str
    meaning: str  # for the data owner; this and the next two are empty where nothing leaked
    also: tuple[str, ...]  # the worst leak of every other secret
    remedy: str
    tally: str  # how many findings of which kind

    @property
    def severity(self) -> Severity:
        return Severity.NONE if self.tone == UNMEASURED else Severity[self.tone.upper()]

    @property
    def in_a_word(self) -> Level:
        if self.tone == UNMEASURED:
            return Level.INCONCLUSIVE
        return Level.LEAK if self.severity > Severity.NONE else Level.NO_LEAK


def statement(report: Report) -> Statement:
    worst = worst_leak(report.findings)
    if worst is None:
        return _without_leak(report)
    return Statement(
        level=f"Severity {worst.severity.label}",
        tone=worst.severity.label,
        headline=f"{leak_sentence(worst)}.",
        meaning=_meaning(worst),
        also=_other_leaks(report, worst),
        remedy=_remedy(report, worst),
        tally=_tally(report),
    )


def _without_leak(report: Report) -> Statement:
    """Never "safe": either no attack that gave an answer found a leak, or there was no answer at all. A claim that
    nothing checks is no clean bill either."""
    n_unchecked = sum(finding.outcome is Outcome.UNCHECKED for finding in report.findings)
    if n_unchecked:
        return _unchecked(report, n_unchecked)
    n_measured = sum(finding.outcome in DECIDED for finding in report.findings)
    if n_measured == 1:
        headline = "The one attack that was measured did no better than prior knowledge alone."
    elif n_measured:
        headline = f"None of the {n_measured} attacks that were measured did better than prior knowledge alone."
    elif any(finding.outcome in ANSWERS for finding in report.findings):
        headline = "No attack could single out a secret."
    else:
        headline = "No attack gave an answer." if report.findings else "No attack was tried."
    answered = any(finding.outcome in ANSWERS for finding in report.findings)
    level, tone = ("No leak found", "none") if answered else ("Not measured", UNMEASURED)
    n_failed = sum(finding.outcome is Outcome.ERRORED for finding in report.findings)
    if answered and n_failed:  # who knows what they would have found
        level, tone, headline = "Not complete", UNMEASURED, f"{headline} But {count(n_failed, 'attack')} failed."
    return Statement(level, tone, headline, meaning="", also=(), remedy="", tally=_tally(report))


def _unchecked(report: Report, n_unchecked: int) -> Statement:
    claims = f"{count(n_unchecked, 'attack')} answered, and nothing here tells whether rightly"
    if any(finding.outcome in DECIDED for finding in report.findings):
        headline = f"What was checked shows no leak, but {claims}: the truth that was given does not hold it."
    else:
        headline = f"No truth given: nothing was checked. {claims}."
    return Statement("Not checked", UNMEASURED, headline, meaning="", also=(), remedy="", tally=_tally(report))


def _meaning(worst: Finding) -> str:
    secret = possessive(worst.secret)
    adversary = who(worst.adversary)
    share = share_learned(worst)
    consequence = worst.secret.kind.consequence.format(owner=owner_words(worst.secret))
    whole = worst.is_proved and worst.claim is not None and worst.claim.status == Status.RECOVERED
    if whole or (share is not None and share >= RECOVERS_FROM):
        return f"{consequence} Count {secret} as disclosed to {adversary} for every record that takes part."
    return f"{consequence} Not all is disclosed, but {adversary} can tell more of {secret} than prior knowledge allows."


def _remedy(report: Report, worst: Finding) -> str:
    if is_captured(report):
        return "This run is over: change the federation, capture it again, and audit that."
    tried = defenses(report)
    best = best_effect(report, worst)
    if best is not None:
        left = remaining_leak(report, best.defense, worst)
        return f"{best.defense} {best.words()}." + (f" But {leak_sentence(left)}." if left else "")
    if tried:
        return f"No defense that was tried ({joined(tried)}) stops or weakens a leak."
    return "No defense was tried: add a [[defense]] to the scenario to see what would help."


def _other_leaks(report: Report, worst: Finding) -> tuple[str, ...]:
    """The worst of every other (adversary, mode, secret), so that no data owner has to look for its own."""
    leaks = [finding for finding in report.findings if finding.is_shown]
    gravest: dict[Aim, Finding] = {aim(worst): worst}
    for leak in sorted(leaks, key=gravity, reverse=True):
        gravest.setdefault(aim(leak), leak)
    return tuple(f"{leak_sentence(leak)}." for leak in gravest.values() if leak is not worst)


def _tally(report: Report) -> str:
    """``13 findings: 6 leaks (3 high, 2 medium, 1 low), 1 without a leak, 6 neither ...``"""
    if not report.findings:
        return ""
    leaks = [finding for finding in report.findings if finding.outcome is Outcome.LEAK]
    by_severity = Counter(finding.severity for finding in leaks)
    graded = ", ".join(f"{by_severity[severity]} {severity.label}" for severity in sorted(by_severity, reverse=True))
    n_clean = sum(finding.outcome is Outcome.NO_LEAK for finding in report.findings)
    n_proved = sum(finding.is_proved for finding in report.findings)
    n_unchecked = sum(finding.outcome is Outcome.UNCHECKED for finding in report.findings) - n_proved
    n_silent = len(report.findings) - len(leaks) - n_clean - n_proved - n_unchecked
    parts = [count(len(leaks), "leak") + (f" ({graded})" if leaks else ""), f"{n_clean} without a leak"]
    if n_proved:
        parts.append(f"{n_proved} proved by the transcript alone")
    if n_unchecked:
        parts.append(f"{n_unchecked} unchecked")
    if n_silent:
        parts.append(f"{n_silent} neither (none of these is a zero)")
    return f"{count(len(report.findings), 'finding')}: {', '.join(parts)}."


NEARLY_ALL = 0.95  # of the cells: the rest may be lost to rounding and ill-conditioning


class Agreement(StrEnum):
    AGREES = "agrees"
    FALLS_SHORT = "falls short"
    DISAGREES = "disagrees"
    NO_PREDICTION = "no prediction"
    NO_MEASUREMENT = "no measurement"


def agreement(finding: Finding) -> Agreement:
    if finding.outcome in {Outcome.SKIPPED, Outcome.ERRORED, Outcome.UNDETERMINED, Outcome.UNCHECKED}:
        return Agreement.NO_MEASUREMENT
    leaked = finding.outcome is Outcome.LEAK
    match finding.theory.verdict:
        case Verdict.EXACT:
            return _against_exact(finding) if leaked else Agreement.DISAGREES
        case Verdict.PARTIAL:  # what a model predicts of a label is part of it
            return Agreement.AGREES if leaked or finding.predicts else Agreement.DISAGREES
        case Verdict.IMPOSSIBLE:
            return Agreement.DISAGREES if leaked else Agreement.AGREES
    return Agreement.NO_PREDICTION


def agreement_words(finding: Finding) -> str:
    """A sentence of what theory said and whether the run bore it out."""
    predicted = PREDICTED.get(finding.theory.verdict, "Theory makes no prediction here.")
    match agreement(finding):
        case Agreement.AGREES:
            return f"{predicted} The measurement agrees."
        case Agreement.FALLS_SHORT:
            return f"{predicted} The measurement falls short: {percent(share_recovered(finding))}."
        case Agreement.DISAGREES:
            return f"{predicted} The measurement disagrees: {MEASURED[finding.outcome]}."
        case Agreement.NO_MEASUREMENT:
            return f"{predicted} There is no measurement to hold against it."
    return predicted


PREDICTED = {
    Verdict.EXACT.value: "Theory expects exact recovery.",
    Verdict.PARTIAL.value: "Theory expects partial recovery.",
    Verdict.IMPOSSIBLE.value: "Theory says that recovery is impossible.",
}
MEASURED = {
    Outcome.LEAK: "the attack beat its baseline",
    Outcome.NO_LEAK: "the attack did not beat its baseline",
    Outcome.NOT_IDENTIFIABLE: "the view does not determine the secret",
}


def _against_exact(finding: Finding) -> Agreement:
    share = share_recovered(finding)
    return Agreement.AGREES if share is None or share >= NEARLY_ALL else Agreement.FALLS_SHORT
