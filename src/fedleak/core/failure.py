"""An unforeseen exception in words, and its traceback where somebody asks for it."""

from __future__ import annotations

import os
import traceback

WANTS_TRACEBACK = "FEDLEAK_TRACEBACK"  # an environment variable: any text but the empty one


def in_one_line(error: BaseException) -> str:
    """TypeName: message."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def show_traceback(error: BaseException) -> None:
    """To standard error, where the environment asks for it; otherwise an exception is one line."""
    if os.environ.get(WANTS_TRACEBACK):
        traceback.print_exception(error)
