"""``fedleak benchmark`` and ``fedleak submit-check``: views to attack, and guesses to score."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from fedleak.cli.console import plain_console
from fedleak.cli.output import check_json_target, write_json
from fedleak.testing.benchmark_tasks import TASKS, check_submission, write_views


def benchmark_command(folder: Path) -> None:
    found = write_views(folder)
    for task in TASKS:
        click.echo(f"{folder / task.name}: {task.summary} ({found[task.name]})")
    click.echo("Write one .npz a task, with ids and values (confidence if you like); then: fedleak submit-check FOLDER")


def submit_check_command(folder: Path, json: str | None) -> None:
    check_json_target(json)
    found = check_submission(folder)
    if json is not None:
        shown = ("metric", "value", "baseline", "n")
        rows = {name: {key: getattr(score, key) for key in shown} for name, score in found.items()}
        write_json({"tasks": rows, "not_entered": [task.name for task in TASKS if task.name not in found]}, json)
        if json == "-":
            return
    table = Table("task", "metric", "score", "blind guess", "better is", box=None, pad_edge=False)
    for name, score in found.items():
        table.add_row(name, score.metric, f"{score.value:.4g}", f"{score.baseline:.4g}", score.better.value)
    plain_console().print(table)
    left_out = [task.name for task in TASKS if task.name not in found]
    if left_out:
        click.echo(f"not entered: {', '.join(left_out)}")
