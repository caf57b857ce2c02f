"""The sentence on top of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fedleak.core.attack import Status
from fedleak.core.conclusion import ANSWERED, MEASURED, Conclusion, Level, conclude, contradicts_theory
from fedleak.core.defended import Aim, aim
from fedleak.core.finding import Finding, Outcome, Severity
from fedleak.core.report import Report
from fedleak.report.cases import gravity, worst_leak
from fedleak.report.defense_effect import best_effect, defenses, remaining_leak
from fedleak.report.model_beside_guess import worth_warning
from fedleak.report.numbers import count
from fedleak.report.wording import (
    RECOVERS_FROM,
    is_captured,
    joined,
    leak_sentence,
    owned_plainly,
    owner_words,
    possessive,
    share_learned,
    who,
)

UNMEASURED = "unmeasured"
ADVISE = "fedleak advise SCENARIO.toml"
MOST_REASONS, MOST_NAMED = 2, 4


@dataclass(frozen=True)
class Statement:
    """The top of every report. ``conclusion`` decides its level and colour."""

    level: str  # a word or two before the headline
    tone: str  # its colour: none, low, medium, high, or unmeasured
    severity: Severity  # of the gravest leak, also of one that theory says cannot be
    headline: str
    meaning: str  # for the data owner, or what was not measured where nothing leaked; the next two are empty there
    also: tuple[str, ...]  # the worst leak of every other secret
    remedy: str
    tally: str  # how many findings of which kind
    in_a_word: Level
    missing: tuple[str, ...] = ()  # what would have to be known and is not, a sentence each
    usefulness: str = ""  # a warning where the model is worth nothing


def statement(report: Report) -> Statement:
    concluded = report.conclusion
    if concluded.level is not Level.LEAK:
        return _without_leak(report, concluded)
    worst = worst_leak(report.findings)
    assert worst is not None
    return Statement(
        level=f"Severity {worst.severity.label}",
        tone=worst.severity.label,
        severity=worst.severity,
        headline=f"{leak_sentence(worst)}.",
        meaning=_meaning(worst),
        also=_other_leaks(report, worst),
        remedy=_remedy(report, worst),
        tally=_tally(report),
        in_a_word=concluded.level,
        missing=_sentences(concluded),
        usefulness=worth_warning(report),
    )


def _without_leak(report: Report, concluded: Conclusion) -> Statement:
    """Never "safe": either no attack that gave an answer found a leak, or what would have to be known is not."""
    known, unmeasured = concluded.level is Level.NO_LEAK, _not_measured(report)
    return Statement(
        level="No leak found" if known else "Inconclusive",
        tone="none" if known and not unmeasured else UNMEASURED,  # green says that everything was measured
        severity=report.worst,
        headline=_none_found(report.findings) if known else _inconclusive(report),
        meaning=unmeasured,
        also=(),
        remedy="",
        tally=_tally(report),
        in_a_word=concluded.level,
        missing=_sentences(concluded),
        usefulness=worth_warning(report),
    )


def _sentences(concluded: Conclusion) -> tuple[str, ...]:
    return tuple(f"{clause[0].upper()}{clause[1:]}." for clause in concluded.missing)


def _none_found(findings: Sequence[Finding]) -> str:
    n_measured = sum(finding.outcome in MEASURED for finding in findings)
    if n_measured == 1:
        return "The one attack that was measured did no better than prior knowledge alone."
    return f"None of the {n_measured} attacks that were measured did better than prior knowledge alone."


def _not_measured(report: Report) -> str:
    """Secrets that no figure stands behind, for who would read silence as safety; of a whole silence its reasons."""
    bare = [finding for finding in report.findings if finding.defense is None]
    measured = {aim(finding) for finding in bare if finding.outcome in MEASURED or finding.is_proved}
    silent = [finding for finding in bare if aim(finding) not in measured]
    if bare and not measured and report.interrupted:  # what the plan left out is not why
        return "Why: it was ended before any attack had an answer."
    if bare and not measured:
        skipped = sorted({one.why for one in silent if one.outcome is Outcome.SKIPPED and one.why})
        reasons = [why for why in skipped if not any(why != other and why.startswith(other) for other in skipped)]
        return f"Why: {'; '.join(reasons[:MOST_REASONS])}." if reasons else ""
    named = list(dict.fromkeys(owned_plainly(finding.secret) for finding in silent))
    more = [f"{len(named) - MOST_NAMED} more"] if len(named) > MOST_NAMED else []
    return f"Nothing was measured of {joined([*named[:MOST_NAMED], *more])}." if named else ""


def _inconclusive(report: Report) -> str:
    findings = report.findings
    impossible = worst_leak(findings)
    if impossible is not None:
        return f"{leak_sentence(impossible)}, though theory says that it cannot: one of the two is wrong."
    if any(finding.outcome is Outcome.UNCHECKED for finding in findings):
        return _unchecked(findings)
    if not any(finding.outcome in MEASURED for finding in findings):
        return _unmeasured(findings)
    return f"What was measured shows no leak, but {_why_not_all(report)}."


def _why_not_all(report: Report) -> str:
    if any(finding.outcome is Outcome.ERRORED for finding in report.findings):
        return f"{count(sum(f.outcome is Outcome.ERRORED for f in report.findings), 'attempt')} failed"
    if report.interrupted:
        return "not everything was tried"
    if any(contradicts_theory(finding) for finding in report.findings):
        return "theory says that there is one"
    return "not every question has an answer"


def _unmeasured(findings: Sequence[Finding]) -> str:
    if any(finding.outcome in ANSWERED for finding in findings):
        return "Several answers fit what each adversary saw, and nothing was measured."
    return "No attack gave an answer." if findings else "No attack was tried."


def _unchecked(findings: Sequence[Finding]) -> str:
    n_unchecked = sum(finding.outcome is Outcome.UNCHECKED for finding in findings)
    claims = f"{count(n_unchecked, 'attack')} answered, and nothing here tells whether rightly"
    if any(finding.outcome in MEASURED for finding in findings):
        return f"What was checked shows no leak, but {claims}: the truth that was given does not hold it."
    return f"No truth given: nothing was checked. {claims}."


def partner_sentence(findings: Sequence[Finding]) -> str:
    """What one adversary learns: by the same rule as the top."""
    worst, concluded = worst_leak(findings), conclude(findings)
    if worst is not None:
        return f"{leak_sentence(worst)}."
    if concluded.level is Level.NO_LEAK:
        return "No attack of this adversary found a leak."
    return f"Not known: {'; '.join(concluded.missing)}."


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
    return f"No defense was tried. {ADVISE} searches for one, and tries what it finds."


def _other_leaks(report: Report, worst: Finding) -> tuple[str, ...]:
    """The worst of every other (adversary, mode, secret), so that no data owner has to look for its own."""
    leaks = [finding for finding in report.findings if finding.is_shown]
    gravest: dict[Aim, Finding] = {aim(worst): worst}
    for leak in sorted(leaks, key=gravity, reverse=True):
        gravest.setdefault(aim(leak), leak)
    return tuple(f"{leak_sentence(leak)}." for leak in gravest.values() if leak is not worst)


def _tally(report: Report) -> str:
    """``13 findings: 6 leaks (3 high, 2 medium, 1 low), 1 without a leak, 6 without an answer ...``"""
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
        parts.append(f'{n_silent} without an answer (which is not "no leak")')
    return f"{count(len(report.findings), 'finding')}: {', '.join(parts)}."
