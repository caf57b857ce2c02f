"""Processes that end with us: each is a group of its own, and the group is ended by its id, whatever happens here."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any, Self

from fedleak.core.errors import RunError
from fedleak.frameworks.process_tree import below, end

GRACE_SECONDS = 5.0
ASKS_TO_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_to_end(
    command: Sequence[str], *, what: str, seconds: float, log: Path, cwd: Path, env: Mapping[str, str] | None = None
) -> int:
    """Its exit code. What it prints goes to ``log``. It holds a pipe from us: when that closes, it ends as well."""
    with log.open("wb") as out, HeldBack() as signals:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=out, stderr=out, cwd=cwd, env=env, start_new_session=True
        )
        try:
            signals.release()
            return child.wait(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise RunError(f"{what} must end within {seconds:g} seconds; it was ended") from error
        finally:
            end_group(child)


class HeldBack:
    """Signals that ask us to end wait until a child that is being started is known by its id: one that came while
    ``Popen`` was at work would leave a process behind that nobody could name. The child does not inherit this."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: list[int] = []

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # no other may set handlers, or is interrupted
            handled = [number for number in ASKS_TO_END if callable(signal.getsignal(number))]
            self._before = {number: signal.signal(number, self._keep) for number in handled}
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _keep(self, number: int, _: FrameType | None) -> None:
        self._came.append(number)

    def release(self) -> None:
        """From now on they are heard again, and those that came first of all."""
        while self._before:
            signal.signal(*self._before.popitem())
        came, self._came = self._came, []
        for number in came:
            signal.raise_signal(number)


def end_group(child: subprocess.Popen[bytes]) -> None:
    """The child and whatever it started; asked first, then ended."""
    started = below(child.pid)  # while it is known who is whose
    for how in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, how)
        if how is signal.SIGTERM and child.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_SECONDS)
    end(started)  # who has a session of its own
    if child.stdin is not None:
        with suppress(OSError):
            child.stdin.close()
    child.wait()


def last_line(log: Path) -> str:
    """What a process said last; for one line about its failure."""
    lines = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"
