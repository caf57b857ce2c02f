"""What a command that does not end well says, and its exit code."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

import typer

from fedleak.core.errors import FedleakError
from fedleak.core.exit_code import ExitCode
from fedleak.core.failure import WANTS_TRACEBACK, in_one_line, show_traceback


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
