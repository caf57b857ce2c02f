"""Where results go: a file, or standard output with nothing else on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import typer
from rich.console import Console

from fedleak.report.files import check_writable, write_whole


class _Plain(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end with exit code 1, which is a finding's


def plain_console(*, stderr: bool = False) -> Console:
    """A console that prints names as they are: a party called "[red]" is no colour."""
    return _Plain(stderr=stderr, markup=False, emoji=False, highlight=False)


def check_json_target(target: str | None) -> None:
    """For commands that work long: a place that cannot be written is told before the work."""
    if target is not None and target != "-":
        check_writable(Path(target))


def write_json(value: Mapping[str, object], target: str) -> None:
    """``-`` is standard output; a file is written under a temporary name and then renamed."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if target == "-":
        typer.echo(text, nl=False)
        return
    write_whole(Path(target), text)
