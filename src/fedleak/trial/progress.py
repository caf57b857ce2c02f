"""How a long audit tells what it is doing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from fedleak.core.facts import Facts
from fedleak.core.steps import Step
from fedleak.core.transcript import Message, Record
from fedleak.core.whole.run import Captured, Sink


@dataclass(frozen=True)
class Standing:
    """Of everything that is to be done, the share that is; with the time for the rest, as it looks now."""

    share: float
    seconds_left: float
    guessed: bool  # of some of the rest nobody knows yet how long it takes


class Progress(ABC):
    @abstractmethod
    def begin(self, what: str, total: int | None) -> None:
        """A new piece of work of so many units (None: unknown)."""

    @abstractmethod
    def advance(self) -> None:
        """One unit is done."""

    def note(self, text: str) -> None:  # noqa: B027  (who shows nothing else need not show this)
        """Something to know before the next piece of work."""

    def stand(self, standing: Standing) -> None:  # noqa: B027  (as above)
        """How far all pieces are together, where whoever works knows them beforehand."""


class Silent(Progress):
    def begin(self, what: str, total: int | None) -> None:
        pass

    def advance(self) -> None:
        pass


class WatchedSink(Sink):
    """Passes everything on, and counts rounds by their one public message, of a step that says so."""

    def __init__(self, inner: Sink, progress: Progress, steps: Iterable[Step[Any]]) -> None:
        self._inner = inner
        self._progress = progress
        self._marks = frozenset(step.name for step in steps if step.marks_round)

    def message(self, message: Message) -> None:
        self._inner.message(message)
        if message.step in self._marks:
            self._progress.advance()

    def record(self, party: str, record: Record) -> None:
        self._inner.record(party, record)

    def finish(self, facts: Facts) -> Captured:
        return self._inner.finish(facts)

    def abandon(self) -> None:
        self._inner.abandon()
