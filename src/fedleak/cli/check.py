"""``fedleak check``: theory only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from fedleak.auditing.advisor import remedies
from fedleak.auditing.planner import PlannedRun, Task, attacks_for_other_protocols, plan_check
from fedleak.auditing.scenario_file import built_in_scenario, load_scenario
from fedleak.cli.output import write_json
from fedleak.core.facts import Facts
from fedleak.core.finding import SCHEMA_VERSION
from fedleak.report.wording import left_out
from fedleak.theory import THEOREMS
from fedleak.theory.condition import Assessment, State

Case = tuple[tuple[str, ...], str | None]  # adversary and defense
ItemT = TypeVar("ItemT")


def check_command(scenario: Path | None, json: str | None) -> None:
    chosen = built_in_scenario() if scenario is None else load_scenario(scenario)
    planned = plan_check(chosen)
    foreign = attacks_for_other_protocols(chosen.protocol, chosen.adversaries)
    if json is not None:
        write_json(_as_json(chosen.title, planned, foreign), json)
    if json != "-":
        _show(planned, foreign)


def _tasks(planned: tuple[PlannedRun, ...]) -> list[tuple[str | None, Task]]:
    return [(run.defense.label if run.defense else None, task) for run in planned for task in run.tasks]


def _assessments(planned: tuple[PlannedRun, ...]) -> list[tuple[tuple[str, ...], str | None, Assessment]]:
    """Every theorem for every adversary under every defense, once."""
    cases: dict[Case, Facts] = {}
    for defense, task in _tasks(planned):
        cases.setdefault((task.adversary.parties, defense), task.facts)
    return [
        (parties, defense, theorem.assess(facts)) for (parties, defense), facts in cases.items() for theorem in THEOREMS
    ]


def _as_json(title: str, planned: tuple[PlannedRun, ...], foreign: Sequence[str]) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "title": title,
        "theorems": [
            {
                "adversary": list(parties),
                "defense": defense,
                "theorem": assessment.theorem,
                "state": assessment.state.value,
                "conclusion": assessment.conclusion,
                "conditions": [
                    {"statement": c.statement, "state": c.state.value, "detail": c.detail}
                    for c in assessment.conditions
                ],
            }
            for parties, defense, assessment in _assessments(planned)
        ],
        "attacks": [
            {
                "adversary": list(task.adversary.parties),
                "defense": defense,
                "attack": task.attack.name,
                "secret": str(task.target),
                "verdict": "skipped" if task.skip else task.prediction.verdict.value,
                "reasons": [task.skip] if task.skip else list(task.prediction.reasons),
            }
            for defense, task in _tasks(planned)
        ],
        "advice": list(remedies([task for _, task in _tasks(planned)])),
        "for_other_protocols": list(foreign),
    }


def _show(planned: tuple[PlannedRun, ...], foreign: Sequence[str]) -> None:
    for (parties, defense), found in _grouped(_assessments(planned)):
        click.echo(f"Theorems, {_case(parties, defense)}")
        for assessment in found:
            click.echo(f"  {assessment.state.value:8} {assessment.theorem}: {_because(assessment)}")
    for (parties, defense), tasks in _grouped(
        (task.adversary.parties, defense, task) for defense, task in _tasks(planned)
    ):
        click.echo(f"Attacks, {_case(parties, defense)}")
        for task in tasks:
            expected = f"skipped: {task.skip}" if task.skip else f"theory expects: {task.prediction.verdict.value}"
            click.echo(f"  {task.attack.name} on {task.target}, {expected}")
    if foreign:
        click.echo(left_out(foreign))
    for line in remedies([task for _, task in _tasks(planned)]):
        click.echo(f"- {line}")


def _grouped(items: Iterable[tuple[tuple[str, ...], str | None, ItemT]]) -> list[tuple[Case, list[ItemT]]]:
    groups: dict[Case, list[ItemT]] = {}
    for parties, defense, item in items:
        groups.setdefault((parties, defense), []).append(item)
    return list(groups.items())


def _case(parties: tuple[str, ...], defense: str | None) -> str:
    return f"adversary {' + '.join(parties)}, {f'defense {defense}' if defense else 'no defense'}:"


def _because(assessment: Assessment) -> str:
    """What follows where it holds; otherwise the conditions that decided, and not those that are met anyway."""
    if assessment.state is State.HOLDS:
        return assessment.conclusion
    deciding = [c for c in assessment.conditions if c.state is assessment.state]
    return "; ".join(f"{c.statement} ({c.detail})" for c in deciding)
