"""A command that is asked to end: once, it keeps what it has; a second time, it goes at once."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from fedleak.core.errors import ExitCode

ASKS_TO_END = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Ended(KeyboardInterrupt):
    """Ctrl-C, or a signal that means the same."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = ExitCode(128 + number)


def exit_code(interruption: KeyboardInterrupt) -> ExitCode:
    return interruption.exit_code if isinstance(interruption, Ended) else ExitCode.INTERRUPTED


def listen() -> None:
    """From now on. A signal that whoever started us has ignored, as nohup does, stays so."""
    asked: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        asked.append(number)
        if len(asked) > 1:
            _end_at_once(number)
        raise Ended(number)

    for number in ASKS_TO_END:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


def _end_at_once(number: int) -> None:
    """The findings are in the journal already. Processes of attacks end with this one; their views are removed."""
    isolation = sys.modules.get("fedleak.trial.isolation")
    if isolation is not None:
        isolation.end_isolation()
    os._exit(128 + number)
