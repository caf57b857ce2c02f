"""What an audit tells while it works, by whatever way Python code wants to hear it."""

from __future__ import annotations

from collections.abc import Callable

from fedleak.trial.progress import Progress, Silent


class Told(Progress):
    """A line a piece of work."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def begin(self, what: str, total: int | None) -> None:
        self._tell(f"{what} ...")

    def note(self, text: str) -> None:
        self._tell(text)

    def advance(self) -> None:
        pass


def progress_of(wanted: Progress | Callable[[str], None] | None) -> Progress:
    if wanted is None:
        return Silent()
    return wanted if isinstance(wanted, Progress) else Told(wanted)
