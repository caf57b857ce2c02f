"""Where results, progress and failures go: a file, standard output with nothing else on it, standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from fedleak.core.errors import WANTS_TRACEBACK, ExitCode, FedleakError, in_one_line, show_traceback
from fedleak.report.json_format import check_writable, write_whole
from fedleak.trial.progress import Progress


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


class Bar(Progress):
    """Drawn only on a terminal; in a log, one line a piece of work."""

    def __init__(self) -> None:
        self._console = plain_console(stderr=True)
        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._current: TaskID | None = None

    def __enter__(self) -> Bar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, what: str, total: int | None) -> None:
        if self._current is not None:
            self._bar.remove_task(self._current)
        if not self._console.is_terminal:
            self._console.print(f"{what} ...", soft_wrap=True)
        self._current = self._bar.add_task(what, total=total)

    def advance(self) -> None:
        if self._current is not None:
            self._bar.advance(self._current)


def told(error: BaseException) -> ExitCode:
    """Say what went wrong, in one line on standard error."""
    if isinstance(error, BrokenPipeError):
        _close_output()
    with suppress(BrokenPipeError):  # nobody listens any more
        typer.echo(f"fedleak: {_words(error)}", err=True)
        show_traceback(error)
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return error.exit_code if isinstance(error, FedleakError) else ExitCode.FAILED


def _words(error: BaseException) -> str:
    if isinstance(error, FedleakError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, BrokenPipeError):
        return "the output was closed before all of it was written"
    return f"internal error: {in_one_line(error)} (set {WANTS_TRACEBACK}=1 to see where)"


def _close_output() -> None:
    """Python writes what is left when it ends, and would replace the exit code by 120 when that fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
