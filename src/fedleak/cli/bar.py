"""How far a long command is."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

from fedleak.auditing.estimate import duration_words
from fedleak.cli.console import plain_console
from fedleak.core.visible_text import visible, visible_name
from fedleak.trial.progress import Progress, Standing

SECONDS_A_LINE = 30.0


class Units(ProgressColumn):
    """Of a piece of work, how many are done; of all together, the share of the time."""

    def __init__(self) -> None:
        super().__init__()
        self._units = MofNCompleteColumn()

    def render(self, task: Task) -> Text:
        standing = task.fields.get("standing")
        return self._units.render(task) if standing is None else Text(percent(standing))


class Left(ProgressColumn):
    def __init__(self) -> None:
        super().__init__()
        self._at_this_pace = TimeRemainingColumn()

    def render(self, task: Task) -> Text:
        standing = task.fields.get("standing")
        return self._at_this_pace.render(task) if standing is None else Text(left_words(standing))


def percent(standing: Standing) -> str:
    """Never all of it while something is left."""
    return f"{min(standing.share, 0.99 if standing.seconds_left else 1.0):.0%}"


def left_words(standing: Standing) -> str:
    return f"{'perhaps' if standing.guessed else 'about'} {duration_words(standing.seconds_left)} left"


class LogLines:
    """How far a piece of work is, for who reads a log: said at most twice a minute."""

    def __init__(self, what: str = "", total: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._total = total
        self._clock = clock
        self._done = 0
        self._began = self._told = clock()

    def advanced(self, standing: Standing | None = None) -> str | None:
        """What to print, where it is time to; with how far all pieces are together, where that is known."""
        self._done += 1
        now = self._clock()
        if now - self._told < SECONDS_A_LINE or self._done == self._total:
            return None
        self._told = now
        in_all = "" if standing is None else f"; in all {percent(standing)}, {left_words(standing)}"
        if self._total is None:
            return f"{self._what}: {self._done:,} done{in_all}"
        left = (now - self._began) / self._done * (self._total - self._done)
        return f"{self._what}: {self._done:,} of {self._total:,}, {duration_words(left)} left at this pace{in_all}"


class Bar(Progress):
    """Drawn only on a terminal; in a log, a line a piece of work, and one now and then of how far it is."""

    def __init__(self) -> None:
        self._console = plain_console(stderr=True)
        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            Units(),
            TimeElapsedColumn(),
            Left(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._current: TaskID | None = None
        self._in_all: TaskID | None = None
        self._standing: Standing | None = None
        self._lines = LogLines()

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
            self._lines = LogLines(what, total)
        self._current = self._bar.add_task(visible_name(what), total=total)

    def stand(self, standing: Standing) -> None:
        self._standing = standing
        if self._in_all is None:
            self._in_all = self._bar.add_task("in all", total=1.0, standing=standing)
        self._bar.update(self._in_all, completed=standing.share, standing=standing)

    def note(self, text: str) -> None:
        self._console.print(visible(f"fedleak: {text}"), soft_wrap=True, markup=False, highlight=False)

    def advance(self) -> None:
        if self._current is not None:
            self._bar.advance(self._current)
            line = None if self._console.is_terminal else self._lines.advanced(self._standing)
            if line is not None:
                self._console.print(line, soft_wrap=True)
