"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

PATH = click.Path(path_type=Path)


def about_a_table(command: Callable[..., object]) -> Callable[..., object]:
    """Options of commands that take a table in place of a scenario."""
    for option in reversed((
        click.option("--target", help="Of a table: the column that holds the labels."),
        click.option("--mine", help='Of a table: your columns, such as "income,age" or "bank=income,age".'),
        click.option("--partner", "partners", multiple=True, help="A partner's columns; may be given several times."),
        click.option("--labels", type=click.Choice(["mine", "partner"]), default="mine", help="Who has the labels."),
        click.option("--phase", type=click.Choice(["train", "predict"]), default="train", help="What is audited."),
        click.option("--protocol", help="By default one that fits the labels; see: fedleak list protocols"),
        click.option("--set", "settings", multiple=True, help="KEY=VALUE of a scenario, such as batch_size=64."),
    )):  # fmt: skip
        command = option(command)
    return command


json_option = click.option("--json", help="Write JSON to this file; - is standard output.")
verbose_option = click.option("--verbose/--no-verbose", help="Print everything, not the verdict alone.")
engine_option = click.option(
    "--engine", help="dask://HOST:PORT of a scheduler that is there; the cores of this machine if left out."
)


def split_words(names: tuple[str, ...]) -> tuple[str, ...]:
    """Given one by one, or in one word with commas."""
    return tuple(name.strip() for given in names for name in given.split(",") if name.strip())
