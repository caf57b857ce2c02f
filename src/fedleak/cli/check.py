"""``fedleak check``: theory only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from fedleak.auditing.frames import FrameOptions
from fedleak.cli.output import say, write_json
from fedleak.door.checking import Assessed, Check, Expected, checked
from fedleak.door.given import given
from fedleak.report.wording import left_out
from fedleak.theory.condition import Assessment, State

Case = tuple[tuple[str, ...], str | None]  # adversary and defense
ItemT = TypeVar("ItemT", Assessed, Expected)


def check_command(scenario: Path | None, json: str | None) -> None:
    found = checked(given(scenario, FrameOptions()))
    if json is not None:
        write_json(found.to_json(), json)
    if json != "-":
        _show(found)


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
