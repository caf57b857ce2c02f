"""Where results and failures go: a file, standard output with nothing else on it, standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import click

from fedleak.core.errors import WANTS_TRACEBACK, ExitCode, FedleakError, in_one_line, show_traceback


def check_json_target(target: str | None) -> None:
    """For commands that work long: a place that cannot be written is told before the work."""
    from fedleak.storage.file_writing import check_writable

    if target is not None and target != "-":
        check_writable(Path(target))


def write_json(value: Mapping[str, object], target: str) -> None:
    """``-`` is standard output; a file is written under a temporary name and then renamed."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if target == "-":
        click.echo(text, nl=False)
        return
    from fedleak.storage import file_writing

    file_writing.write_text(Path(target), text)


def told(error: BaseException) -> ExitCode:
    """Say what went wrong, in one line on standard error."""
    if isinstance(error, BrokenPipeError):
        _close_output()
    with suppress(BrokenPipeError):  # nobody listens any more
        click.echo(f"fedleak: {_words(error)}", err=True)
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
