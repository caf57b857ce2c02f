"""Where results and failures go: a file, standard output with nothing else on it, standard error."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fedleak.cli.signals import exit_code
from fedleak.core.errors import WANTS_TRACEBACK, ExitCode, FedleakError, in_one_line, show_traceback
from fedleak.core.visible_text import visible, visible_json


def say(text: str, *, err: bool = False) -> None:
    """To people: no name that is in it is obeyed by a terminal. Not by click, which takes ASCII for a mistake."""
    stream = sys.stderr if err else sys.stdout
    stream.write(visible(text) + "\n")
    stream.flush()


def check_json_target(target: str | None) -> None:
    """For commands that work long: a place that cannot be written is told before the work."""
    from fedleak.storage.file_writing import check_writable

    if target is not None and target != "-":
        check_writable(Path(target))


def write_json(value: Mapping[str, object], target: str, *, private: bool = False) -> None:
    """``-`` is standard output; a file is written under a temporary name and then renamed. ``private``: readable by its
    owner alone."""
    escaped = target == "-" and not (sys.stdout.encoding or "").lower().startswith("utf")
    text = visible_json(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=escaped)) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    from fedleak.storage import file_writing

    file_writing.write_text(Path(target), text, private=private)


# What the system says of an output that takes no more. Of files that we write, errors of ours tell.
OF_THE_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT)


def told(error: BaseException) -> ExitCode:
    """Say what went wrong, in one line on standard error; a reader that has gone away wants to hear no more."""
    if isinstance(error, OSError) and error.errno in OF_THE_OUTPUT:
        _close_output()
    if isinstance(error, BrokenPipeError):
        return ExitCode.UNHEARD
    with suppress(OSError):  # nobody listens there either
        say(f"fedleak: {unbroken(_words(error))}", err=True)
        show_traceback(error)
    if isinstance(error, KeyboardInterrupt):
        return exit_code(error)
    return error.exit_code if isinstance(error, FedleakError) else ExitCode.FAILED


def unbroken(text: str) -> str:
    """One line, whatever is in a name: a line break could forge another one."""
    return text.replace("\n", "\\n")


def _words(error: BaseException) -> str:
    if isinstance(error, FedleakError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.errno in OF_THE_OUTPUT:
        return f"the output could not be written: {error.strerror}"
    return f"internal error: {in_one_line(error)} (set {WANTS_TRACEBACK}=1 to see where)"


def lead_nowhere() -> None:
    """Inputs and outputs that whoever started us has closed. Otherwise the next file that is opened would take such a
    number, and what is printed would be written into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))


def _close_output() -> None:
    """Python writes what is left when it ends, and would replace the exit code by 120 when that fails."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
