"""``fedleak check``: theory only. On one screen what it comes to; every theorem and attack with ``--verbose``."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TypeVar

from fedleak.auditing.advisor import THAT_CLOSES
from fedleak.auditing.frames import FrameOptions
from fedleak.cli.key_warning import warn_of_short_key
from fedleak.cli.output import say, write_json
from fedleak.core.adversary import Secret
from fedleak.core.attack import Verdict
from fedleak.door.checking import Assessed, Check, Expected, checked
from fedleak.door.given import given
from fedleak.report.numbers import count
from fedleak.report.wording import left_out, owned_plainly
from fedleak.theory.condition import Assessment, State

Case = tuple[tuple[str, ...], str | None]  # adversary and defense
Question = tuple[tuple[str, ...], Secret]  # who is after what
ItemT = TypeVar("ItemT", Assessed, Expected)
SKIPPED = "skipped"
# The first that an attack has is the answer to a question.
ANSWERS = {
    Verdict.EXACT.value: "leaks for certain",
    Verdict.PARTIAL.value: "leaks in part",
    Verdict.UNKNOWN.value: "no theorem of ours tells: audit it",
    SKIPPED: "not tried",
    Verdict.IMPOSSIBLE.value: "ruled out for the attacks that we have",
}
LEAKS = (Verdict.EXACT.value, Verdict.PARTIAL.value)
NO_CHANGE = "Change: theory names none that closes it; fedleak advise SCENARIO.toml looks for one, and tries it."
MOST_LINES = 25
MOST_QUESTIONS = 10
MOST_ANSWER_LINES = 16  # the rest is for defenses and what to change
NARROW, WIDE = 80, 110


def check_command(scenario: Path | None, json: str | None, verbose: bool) -> None:
    wanted = given(scenario, FrameOptions())
    warn_of_short_key(wanted.scenario.settings)
    found = checked(wanted)
    if json is not None:
        write_json(found.to_json(), json)
    if json != "-":
        _show(found) if verbose else _show_brief(found)


def _show_brief(found: Check) -> None:
    width = max(NARROW, min(WIDE, shutil.get_terminal_size((NARROW, 24)).columns))
    lines = [*_answers(found.attacks, width), *_under_defenses(found.attacks, width)]
    n_left = MOST_LINES - len(lines) - 1
    told = 0
    for advice in found.advice:
        change = advice.partition(THAT_CLOSES)[0]
        for words in (advice, f"{change}."):  # the reason stays away where there is no room for it
            wrapped = wrap(f"Change: {words}", width, subsequent_indent="  ")
            if len(wrapped) <= n_left:
                n_left -= len(wrapped)
                told += 1
                lines += wrapped
                break
    if not found.advice and any(attack.verdict in LEAKS and attack.defense is None for attack in found.attacks):
        lines += wrap(NO_CHANGE, width, subsequent_indent="  ")
    more = f" {count(len(found.advice) - told, 'more change')}," if told < len(found.advice) else ""
    for line in (*lines, f"With --verbose:{more} every theorem and attack, with reasons."):
        say(line)


def _answers(attacks: Sequence[Expected], width: int) -> Iterator[str]:
    asked = _asked(attacks, None)
    if not asked:
        yield "No attack of ours is for this protocol and these adversaries."
        return
    ranked = sorted(asked.items(), key=lambda item: list(ANSWERS).index(_answer(item[1])))
    shown = ranked[:MOST_QUESTIONS]
    who_wide = min(20, max(len(" + ".join(parties)) for (parties, _), _ in shown))
    about_wide = min(34, max(len(owned_plainly(secret)) for (_, secret), _ in shown))
    rows = []
    for (parties, secret), tried in shown:
        who, about = _cut(" + ".join(parties), who_wide), _cut(owned_plainly(secret), about_wide)
        rows.append((f"{who:{who_wide}}  {about:{about_wide}}  ", _words(tried)))
    yield from _in_width(rows, width)
    if len(ranked) > len(shown):
        yield f"and {len(ranked) - len(shown)} more, none of them worse"


def _in_width(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Reasons whole, in further lines, where a screen has room for them; cut otherwise."""
    left = max(len(head) for head, _ in rows)
    whole = [wrap(words, width, initial_indent=head, subsequent_indent=" " * left) for head, words in rows]
    if sum(map(len, whole)) <= MOST_ANSWER_LINES:
        yield from (line for lines in whole for line in lines)
    else:
        yield from (_cut(f"{head}{words}", width) for head, words in rows)


def _under_defenses(attacks: Sequence[Expected], width: int) -> Iterator[str]:
    for defense in dict.fromkeys(attack.defense for attack in attacks if attack.defense is not None):
        counted = Counter(_answer(tried) for tried in _asked(attacks, defense).values())
        told = ", ".join(f"{counted[answer]} {words}" for answer, words in ANSWERS.items() if counted[answer])
        yield from wrap(f"With {defense}: {told}.", width, subsequent_indent="  ")


def _asked(attacks: Iterable[Expected], defense: str | None) -> dict[Question, list[Expected]]:
    asked: dict[Question, list[Expected]] = {}
    for attack in attacks:
        if attack.defense == defense:
            asked.setdefault((attack.adversary, attack.secret), []).append(attack)
    return asked


def _answer(tried: Sequence[Expected]) -> str:
    return min((attack.verdict for attack in tried), key=list(ANSWERS).index)


def _words(tried: Sequence[Expected]) -> str:
    answer = _answer(tried)
    by = next(attack for attack in tried if attack.verdict == answer)
    if answer == Verdict.UNKNOWN:
        return _under_a_condition(tried) or ANSWERS[answer]
    reason = by.skip if answer == SKIPPED else by.attack if answer in (Verdict.EXACT, Verdict.PARTIAL) else ""
    return f"{ANSWERS[answer]}{f': {reason}' if reason else ''}"


def _under_a_condition(tried: Sequence[Expected]) -> str:
    """The attack of which the fewest conditions are open; empty where a condition fails, and the theorem is silent."""
    fewest = min(
        (a.prediction.conditions for a in tried if a.prediction.conditions and not a.skip), key=len, default=()
    )
    further = f" (and {len(fewest) - 1} more)" if len(fewest) > 1 else ""
    return f"leaks if{further}: {fewest[0]}" if fewest else ""


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _show(found: Check) -> None:
    for case, theorems in _grouped(found.theorems):
        say(f"Theorems, {_named(case)}")
        for item in theorems:
            assessment = item.assessment
            say(f"  {assessment.state.value:8} {assessment.theorem}: {_because(assessment)}")
    for case, attacks in _grouped(found.attacks):
        say(f"Attacks, {_named(case)}")
        for attack in attacks:
            expected = f"skipped: {attack.skip}" if attack.skip else f"theory expects: {attack.verdict}"
            say(f"  {attack.attack} on {attack.secret}, {expected}")
    if found.for_other_protocols:
        say(left_out(found.for_other_protocols))
    for line in found.advice:
        say(f"- {line}")


def _grouped(items: Iterable[ItemT]) -> list[tuple[Case, list[ItemT]]]:
    groups: dict[Case, list[ItemT]] = {}
    for item in items:
        groups.setdefault((item.adversary, item.defense), []).append(item)
    return list(groups.items())


def _named(case: Case) -> str:
    parties, defense = case
    return f"adversary {' + '.join(parties)}, {f'defense {defense}' if defense else 'no defense'}:"


def _because(assessment: Assessment) -> str:
    """What follows where it holds; otherwise the conditions that decided, and not those that are met anyway."""
    if assessment.state is State.HOLDS:
        return assessment.conclusion
    deciding = [c for c in assessment.conditions if c.state is assessment.state]
    return "; ".join(f"{c.statement} ({c.detail})" for c in deciding)
