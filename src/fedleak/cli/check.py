"""``fedleak check``: theory only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.table import Table

from fedleak.auditing.advisor import remedies
from fedleak.auditing.planner import PlannedRun, Task, attacks_for_other_protocols, plan_check
from fedleak.auditing.scenario_file import built_in_scenario, defense_label, load_scenario
from fedleak.cli.output import plain_console, write_json
from fedleak.core.finding import SCHEMA_VERSION
from fedleak.report.wording import left_out
from fedleak.theory import THEOREMS
from fedleak.theory.condition import Assessment


def check_command(scenario: Path | None, json: str | None) -> None:
    chosen = built_in_scenario() if scenario is None else load_scenario(scenario)
    planned = plan_check(chosen)
    foreign = attacks_for_other_protocols(chosen.protocol, chosen.adversaries)
    if json is not None:
        write_json(_as_json(chosen.title, planned, foreign), json)
    if json != "-":
        _show(planned, foreign)


def _tasks(planned: tuple[PlannedRun, ...]) -> list[tuple[str | None, Task]]:
    return [(defense_label(run.defense) if run.defense else None, task) for run in planned for task in run.tasks]


def _assessments(planned: tuple[PlannedRun, ...]) -> list[tuple[tuple[str, ...], str | None, Assessment]]:
    """Every theorem for every adversary under every defense, once."""
    found: dict[tuple[tuple[str, ...], str | None, str], tuple[tuple[str, ...], str | None, Assessment]] = {}
    for defense, task in _tasks(planned):
        for theorem in THEOREMS:
            key = (task.adversary.parties, defense, theorem.name)
            found.setdefault(key, (task.adversary.parties, defense, theorem.assess(task.facts)))
    return list(found.values())


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
    console = plain_console()
    table = Table("adversary", "defense", "theorem", "state", "conditions", title="Theorems", title_justify="left")
    for parties, defense, assessment in _assessments(planned):
        table.add_row(
            " + ".join(parties),
            defense or "none",
            assessment.theorem,
            assessment.state.value,
            "\n".join(assessment.reasons),
        )
    console.print(table)
    table = Table("adversary", "defense", "attack", "secret", "theory expects", title="Attacks", title_justify="left")
    for defense, task in _tasks(planned):
        expected = f"skipped: {task.skip}" if task.skip else task.prediction.verdict.value
        table.add_row(
            " + ".join(task.adversary.parties), defense or "none", task.attack.name, str(task.target), expected
        )
    console.print(table)
    if foreign:
        typer.echo(left_out(foreign))
    for line in remedies([task for _, task in _tasks(planned)]):
        typer.echo(f"- {line}")
