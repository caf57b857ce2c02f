"""How far a long command is."""

from __future__ import annotations

from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from fedleak.cli.console import plain_console
from fedleak.core.visible_text import visible, visible_name
from fedleak.trial.progress import Progress


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
        self._current = self._bar.add_task(visible_name(what), total=total)

    def note(self, text: str) -> None:
        self._console.print(visible(f"fedleak: {text}"), soft_wrap=True, markup=False, highlight=False)

    def advance(self) -> None:
        if self._current is not None:
            self._bar.advance(self._current)
