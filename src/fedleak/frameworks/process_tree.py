"""Whoever a process of ours started, by id. Some are in sessions of their own (NVFLARE's simulator), where no signal to
our group reaches them, and write on for a while after their parent is gone.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

Process = tuple[int, str]  # its number and when it started: a number that is used again is another process


def below(root: int) -> list[Process]:
    """Parents before their children. None where the system has no /proc."""
    found = [(number, started(number)) for number in _children(root)]
    for number, _ in found:
        found += [(child, started(child)) for child in _children(number)]
    return found


def end(processes: Iterable[Process]) -> None:
    """Those that are still there, with what they have started since. Each is stopped first, so that it starts nobody
    while we look."""
    for number, began in processes:
        if began and started(number) == began:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGSTOP)
                end(below(number))
                os.kill(number, signal.SIGKILL)


def started(number: int) -> str:
    """In ticks since the system's start; empty where there is no such process."""
    try:
        told = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return told.rpartition(")")[2].split()[19]  # behind its name, which may have spaces and brackets in it


def _children(number: int) -> list[int]:
    """Of all its threads."""
    found: list[int] = []
    for told in Path(f"/proc/{number}/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, told.read_text(encoding="ascii").split())
    return found
