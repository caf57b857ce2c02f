"""What to change, from what the audit found and what the theory says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fedleak.auditing.planner import Task
from fedleak.core.conclusion import ANSWERED
from fedleak.core.defended import Aim, Fate, aim, fates
from fedleak.core.finding import Finding
from fedleak.core.report import Remedy
from fedleak.theory import THEOREMS
from fedleak.theory.condition import State

THAT_CLOSES = ". That closes what theory proves: "  # between a change and why
GOOD = (Fate.STOPPED, Fate.RULED_OUT)


def advice(findings: Sequence[Finding], by_theory: Sequence[Remedy]) -> tuple[Remedy, ...]:
    """Defenses that were seen to work, changes that break a theorem, and defenses that were seen not to work."""
    tried = dict.fromkeys(finding.defense for finding in findings if finding.defense is not None)
    ended = [(name, question, fate) for name in tried for question, fate in fates(findings, name).items()]
    told = {fate: [_told(findings, *one) for one in ended if one[2] is fate] for fate in Fate}
    worked = [remedy for fate in GOOD for remedy in told[fate]]
    failed = [remedy for fate in Fate if fate not in GOOD for remedy in told[fate]]
    return tuple(dict.fromkeys([*worked, *by_theory, *failed]))


def remedies(tasks: Sequence[Task]) -> tuple[str, ...]:
    """What closes the leaks that theorems open, where the protocol at hand can have it: a sentence a change."""
    proved: dict[str, dict[str, dict[str, list[str]]]] = {}  # by change, by adversary, by conclusion
    for task in {id(task.facts): task for task in tasks}.values():  # attacks of one adversary share their facts
        for theorem in THEOREMS:
            assessment = theorem.assess(task.facts)
            words = [measure.words for measure in assessment.remedies if measure.fits(task.facts)]
            if assessment.state is State.HOLDS and words:
                by_who = proved.setdefault("; or ".join(words), {})
                conclusions = by_who.setdefault(" and ".join(task.adversary.parties), {})
                named = conclusions.setdefault(assessment.conclusion, [])
                named += [] if theorem.name in named else [theorem.name]
    return tuple(f"{change}{THAT_CLOSES}{_proved(by_who)}." for change, by_who in proved.items())


def _proved(by_who: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """``for fintech, every label is determined in the first epoch (hu2022/theorem-4.6); for bank, ...``."""
    told = {
        who: ", ".join(f"{conclusion} ({', '.join(theorems)})" for conclusion, theorems in conclusions.items())
        for who, conclusions in by_who.items()
    }
    return "; ".join(f"for {who}, {conclusions}" for who, conclusions in told.items())


def _told(findings: Sequence[Finding], defense: str, question: Aim, fate: Fate) -> Remedy:
    """One sentence on one question under one defense."""
    mine = [finding for finding in findings if aim(finding) == question]
    leak = max((f for f in mine if f.defense is None and f.is_shown), key=lambda found: found.severity)
    under = [finding for finding in mine if finding.defense == defense]
    learns = f"what {' and '.join(leak.adversary)} learns of {leak.secret}"
    match fate:
        case Fate.STOPPED:
            return Remedy(f"{defense} stops {learns}{_change(leak, under)}.", defense)
        case Fate.RULED_OUT:
            return Remedy(f"{defense} leaves nothing to attack in {learns}: {_reason(leak, under)}.", defense)
        case Fate.UNANSWERED:
            silent = _silent(under)
            return Remedy(f"Whether {defense} stops {learns} is not known: {silent}.", defense)
    left = max((f for f in under if f.is_shown), key=lambda found: found.severity)
    weaker = f"only weakens {learns}" if fate is Fate.WEAKENED else f"does not stop {learns}"
    return Remedy(f"{defense} {weaker}, by {left.attack}{_change(leak, [left])}.", defense)


def _change(leak: Finding, under: Sequence[Finding]) -> str:
    """From the leak's figure to that of the same attack under the defense, or else of any with the same metric."""
    before = leak.score
    if before is None:
        return ""
    ranked = sorted(under, key=lambda finding: finding.attack != leak.attack)
    after = next((f.score for f in ranked if f.score is not None and f.score.metric == before.metric), None)
    if after is None:
        return ""
    return f" ({before.metric} from {before.value:.3f} to {after.value:.3f}, baseline {after.baseline:.3f})"


def _reason(leak: Finding, under: Sequence[Finding]) -> str:
    return next(finding.why for finding in under if finding.attack == leak.attack)


def _silent(under: Sequence[Finding]) -> str:
    ended = [f"{f.attack} ended as {f.outcome.value}" for f in under if f.outcome not in ANSWERED]
    return ", ".join(ended) or "no attack that leaked was tried under it"
