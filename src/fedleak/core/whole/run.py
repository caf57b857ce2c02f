"""A run of a protocol: where its messages and records go while it lasts, and what there is of it afterwards.

``Run.view`` is the only way from here to what an attack sees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from fedleak.core.adversary import Secret
from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge
from fedleak.core.oracle import LiveOracle, Oracle, Service
from fedleak.core.payload import CipherArray, digest, settled_payload
from fedleak.core.transcript import OPENS, Keyed, Message, Record, StoredSequence, Transcript
from fedleak.core.view import View
from fedleak.core.whole.truth import Truth


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


@dataclass(frozen=True, eq=False)
class Run:
    transcript: Transcript
    locals: Mapping[str, Sequence[Record]]
    truth: Truth
    utility: Mapping[str, float] = field(default_factory=dict)  # the model's accuracy and the like
    notes: tuple[str, ...] = ()  # what a reader of the result must know, such as an ideal functionality in use
    services: Mapping[str, Service] = field(default_factory=dict)  # what can be queried after the training
    baselines: Mapping[str, float] = field(default_factory=dict)  # of ``utility``: a guess that looks at no column

    def view(
        self,
        coalition: tuple[str, ...],
        target: Secret,
        facts: Facts,
        *,
        knowledge: Knowledge | None = None,
        oracles: Mapping[str, Oracle] | None = None,
    ) -> View:
        """What the coalition sees of this run, and no more. ``facts`` are the public ones, as it sees them.

        Every view gets oracles of its own for the services that are open to a member: their logs are the view's.
        """
        members = frozenset(coalition)
        live = {
            name: LiveOracle(service.spec, service.answer)
            for name, service in self.services.items()
            if members.intersection(service.clients)
        }
        return View(
            coalition=coalition,
            target=target,
            facts=facts,
            messages=self._messages_of(members),
            locals={name: self._records_of(name, members) for name in coalition if name in self.locals},
            knowledge=knowledge or Knowledge(),
            oracles=live if oracles is None else oracles,
        )

    def _messages_of(self, members: frozenset[str]) -> Sequence[Message]:
        """One sequence for all views of a coalition; of a run on disk it holds where the messages are, not them."""
        if members not in self._seen:
            self._seen[members] = self.transcript.concerning(members)
        return self._seen[members]

    def _records_of(self, name: str, members: frozenset[str]) -> Sequence[Record]:
        """A party's records, without what its key would open in messages that the coalition never had."""
        records = self.locals[name]
        words = records.keys if isinstance(records, Keyed) else [record.name for record in records]
        if not any(word.startswith(OPENS) for word in words):
            return records
        had = self._openable_by(members)
        kept = [i for i, word in enumerate(words) if not word.startswith(OPENS) or word in had]
        return records.chosen(kept) if isinstance(records, StoredSequence) else [records[i] for i in kept]

    def _openable_by(self, members: frozenset[str]) -> frozenset[str]:
        """What the ciphertexts that a coalition had are called by who can open them. One is read at a time."""
        if members not in self._openable:
            payloads = (message.payload for message in self._messages_of(members))
            ciphertexts = (payload for payload in payloads if isinstance(payload, CipherArray))
            self._openable[members] = frozenset(OPENS + digest(payload) for payload in ciphertexts)
        return self._openable[members]

    @cached_property
    def _seen(self) -> dict[frozenset[str], Sequence[Message]]:
        return {}

    @cached_property
    def _openable(self) -> dict[frozenset[str], frozenset[str]]:
        return {}
