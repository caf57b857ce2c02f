"""An annex for an impact assessment, in Markdown: three questions, what answers them, what was tried, what is open.

It holds no true value and no run key. What is not known is never called safe, and nobody's data are called out of reach
of the law: that is not a scanner's to say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fedleak.core.conclusion import ANSWERED, MEASURED
from fedleak.core.defended import by_aim
from fedleak.core.finding import Finding, Outcome
from fedleak.core.report import Report
from fedleak.core.risk import Risk
from fedleak.core.visible_text import visible
from fedleak.report.cases import gravity, worst_leak
from fedleak.report.defense_effect import defenses, effects
from fedleak.report.matrix import matrix
from fedleak.report.numbers import count
from fedleak.report.sureness import how_sure
from fedleak.report.verdict import ADVISE
from fedleak.report.wording import is_captured, leak_sentence

SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
SOURCE = "opinion 05/2014 (WP216) of the Article 29 Data Protection Working Party"
TOLD = ("fedleak", "commit", "time", "seed", "cipher", "key_bits")  # of the environment


def annex(report: Report) -> str:
    sections = (_head, _questions, _leaks, _measures, _open, _not_tried)
    parts = [*(list(section(report)) for section in sections), list(_limits())]
    return "\n".join(line for part in parts if part for line in (*part, ""))


def _plain(text: object) -> str:
    """Names and reasons are untrusted: no markup of theirs is obeyed, and no line of a table ends early."""
    return SPECIAL.sub(r"\\\1", " ".join(visible(str(text)).split()))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(_plain(cell) for cell in row)} |"


def _head(report: Report) -> Iterator[str]:
    yield f"# Annex: what partners can learn in “{_plain(report.title)}”"
    yield ""
    run = "a run that was captured" if is_captured(report) else "real runs of the protocol"
    yield (
        f"Each partner's place was taken on {run}, and known attacks were tried on what that partner has, sends and "
        f"receives ({count(report.repeats, 'run')} behind each finding). The questions are those of {SOURCE}."
    )
    yield ""
    told = {name: report.environment[name] for name in TOLD if name in report.environment}
    yield from (f"- {_plain(name.replace('_', ' '))}: {_plain(value)}" for name, value in told.items())
    if "protocol" in report.scenario:
        yield f"- protocol: {_plain(report.scenario['protocol'])}"
    yield from (f"- smaller than asked: {_plain(line)}" for line in report.reduced)


def _questions(report: Report) -> Iterator[str]:
    yield "## The three questions"
    yield ""
    bare = [finding for finding in report.findings if finding.defense is None]
    asked = {risk: [finding for finding in bare if risk in finding.risks] for risk in Risk}
    rows = [(risk.value, risk.question, _answer(found, report)) for risk, found in asked.items()]
    yield from _table(("risk", "question", "answer, without a defense"), rows)


def _answer(findings: Sequence[Finding], report: Report) -> str:
    tried = [finding for finding in findings if finding.outcome is not Outcome.SKIPPED]
    worst = worst_leak(tried)
    if worst is not None:
        n_more = len({(f.adversary, f.mode, f.secret) for f in tried if f.is_shown}) - 1
        more = f"; {count(n_more, 'further such leak')} below" if n_more else ""
        return f"Yes, severity {worst.severity.label}: {leak_sentence(worst)}{more}."
    if not tried:
        return "Not asked: no attack that was tried is after this."
    if not report.interrupted and all(finding.outcome in ANSWERED for finding in tried):
        n_measured = sum(finding.outcome in MEASURED for finding in tried)
        n_fit = len(tried) - n_measured
        several = f"in {n_fit if n_measured else count(n_fit, 'attempt')} several answers fit what was seen"
        if not n_measured:
            return f"Not measured: {several}. Other attacks may tell."
        further = f"; {several}, and nothing was measured" if n_fit else ""
        return f"Not shown: {count(n_measured, 'attempt')} measured, without a leak{further}. Other attacks may."
    return f"Not known: of {count(len(tried), 'attempt')} none shows it, and not all gave an answer."


def _leaks(report: Report) -> Iterator[str]:
    yield "## What was shown"
    yield ""
    shown = [line for line in matrix(report.findings) if line.finding.is_shown]
    if not shown:
        yield "No attack showed a leak without a defense. What is open stands below."
        return
    rows = [
        (
            one.who,
            one.about,
            one.what + _columns(one.finding),
            one.learns,
            ", ".join(one.finding.risks),
            one.finding.severity.label,
            how_sure(one.finding),
        )
        for one in shown
    ]
    yield from _table(("who", "about whom", "what", "learns", "risk", "severity", "how sure"), rows)


def _columns(finding: Finding) -> str:
    names = finding.leaking_columns
    return f" ({', '.join(names)})" if names and len(finding.columns) > 1 else ""


def _measures(report: Report) -> Iterator[str]:
    yield "## Measures that were tried"
    yield ""
    tried = effects(report)
    yield from (f"- {_plain(effect.defense)} {_plain(effect.words())}." for effect in tried)
    if not tried:
        yield f"None. `{ADVISE}` searches for one and tries what it finds."
    for defense in defenses(report):
        left = by_aim(f for f in report.findings if f.is_shown and f.defense == defense)
        gravest = sorted((max(found, key=gravity) for found in left.values()), key=gravity, reverse=True)
        yield from (f"- Still: {_plain(leak_sentence(one))}." for one in gravest)


def _open(report: Report) -> Iterator[str]:
    yield "## What is not known"
    yield ""
    missing = report.conclusion.missing
    yield from (f"- {_plain(clause)}" for clause in missing)
    if not missing:
        yield "Every question that was asked has an answer."


def _not_tried(report: Report) -> Iterator[str]:
    """Who breaks the rules, for one, where all partners were declared to keep them."""
    skipped = [one for one in report.findings if one.defense is None and one.outcome is Outcome.SKIPPED]
    reasons = Counter(one.why for one in skipped)
    if reasons:
        yield "## What was not tried"
        yield ""
    yield from (f"- {count(number, 'attempt')}: {_plain(why)}" for why, number in reasons.most_common())


def _limits() -> Iterator[str]:
    yield "## How far this goes"
    yield ""
    yield (
        "A leak that was shown is a fact about these runs. No finding means that none of these attacks succeeded, not "
        "that none can. Where partners train on the same persons, they know whose row is whose before anything is "
        "learnt: what is found of a row is found of a person. Whether data are personal is not decided here."
    )
