"""Where a run's messages and records go while it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from fedleak.core.facts import Facts
from fedleak.core.message import Message, Record
from fedleak.core.payload import settled_payload
from fedleak.core.transcript import Transcript


@dataclass(frozen=True, eq=False)
class Captured:
    transcript: Transcript
    locals: Mapping[str, Sequence[Record]]


class Sink(ABC):
    """Used in a ``with`` block, so that a run that fails leaves nothing behind."""

    @abstractmethod
    def message(self, message: Message) -> None: ...

    @abstractmethod
    def record(self, party: str, record: Record) -> None: ...

    @abstractmethod
    def finish(self, facts: Facts) -> Captured:
        """Close the sink; what it captured becomes readable."""

    def abandon(self) -> None:  # noqa: B027  (a sink without anything outside of memory has nothing to do)
        """Drop what was captured so far; without effect on a finished sink."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.abandon()


class MemorySink(Sink):
    """Keeps copies: what a party does with its arrays afterwards does not change what it sent or recorded."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._locals: dict[str, list[Record]] = {}

    def message(self, message: Message) -> None:
        self._messages.append(replace(message, payload=settled_payload(message.payload)))

    def record(self, party: str, record: Record) -> None:
        self._locals.setdefault(party, []).append(replace(record, value=settled_payload(record.value)))

    def finish(self, facts: Facts) -> Captured:
        return Captured(Transcript(facts, tuple(self._messages)), {p: tuple(r) for p, r in self._locals.items()})
