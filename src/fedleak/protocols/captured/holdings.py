"""What a transcript holds, in short: who received which payloads at which step, and who kept what under which name.

The capabilities of a coalition are inferred from this and the public facts alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.payload import Array, ModelSpec, Payload
from fedleak.core.steps import RecordName, Step
from fedleak.core.transcript import EVERYONE, SETUP_ROUND
from fedleak.core.whole.run import Captured


@dataclass(frozen=True)
class Received:
    """One kind of message, however often it came. ``receiver`` may be everybody."""

    step: str
    receiver: str
    payload: type[Payload]
    model: str = ""  # what kind of model was sent, where one was
    model_output: str = ""


@dataclass(frozen=True)
class Kept:
    party: str
    name: str
    payload: type[Payload]
    trained: bool  # in a round of training; what is there from the start alone is not


@dataclass(frozen=True)
class Holdings:
    received: frozenset[Received]
    kept: frozenset[Kept]
    clients: frozenset[str] = frozenset()  # of services that can still be asked
    sent: frozenset[tuple[str, str]] = frozenset()  # step and sender

    def of(self, coalition: Collection[str]) -> CoalitionHoldings:
        members = frozenset(coalition)
        return CoalitionHoldings(
            members,
            frozenset(one for one in self.received if one.receiver in members or one.receiver == EVERYONE),
            frozenset(one for one in self.kept if one.party in members),
            bool(members & self.clients),
            frozenset(step for step, sender in self.sent if sender in members),
        )


@dataclass(frozen=True)
class CoalitionHoldings:
    members: frozenset[str]
    received: frozenset[Received]
    kept: frozenset[Kept]
    may_ask: bool
    sent: frozenset[str] = frozenset()  # steps at which a member sent something
    _steps: Mapping[str, frozenset[type[Payload]]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        steps: dict[str, frozenset[type[Payload]]] = {}
        for one in self.received:
            steps[one.step] = steps.get(one.step, frozenset()) | {one.payload}
        object.__setattr__(self, "_steps", steps)

    def gets(self, step: Step[Any], payload: type[Payload] | None = None) -> bool:
        """Whether a member received something at a step, of that form if one is named."""
        found = self._steps.get(step.name, frozenset())
        return bool(found) if payload is None else payload in found

    def knows(self, step: Step[Any]) -> bool:
        """Whether a member received something at a step, or sent it."""
        return self.gets(step) or step.name in self.sent

    def keeps(self, name: RecordName, *, trained: bool = False) -> bool:
        return any(one.name == name.name and (one.trained or not trained) for one in self.kept)

    def models(self) -> Iterable[tuple[str, str]]:
        """Kind and form of output of each model that a member received."""
        return {(one.model, one.model_output) for one in self.received if one.payload is ModelSpec}


def rows_sent(captured: Captured, step: Step[Any]) -> Iterator[tuple[int, IntArray]]:
    """The row ids of every message of a step, with its round."""
    for message in captured.transcript.messages:
        if message.step == step.name and isinstance(message.payload, Array):
            yield message.round, np.asarray(message.payload.values, dtype=np.int64).ravel()


def holdings_of(captured: Captured, clients: Collection[str] = ()) -> Holdings:
    """One pass over everything; arrays are not read."""
    received, sent = set(), set()
    for message in captured.transcript.messages:
        received.add(Received(message.step, message.receiver, type(message.payload), *_model(message.payload)))
        sent.add((message.step, message.sender))
    kept = {
        Kept(party, record.name, type(record.value), record.round > SETUP_ROUND)
        for party, records in captured.locals.items()
        for record in records
    }
    return Holdings(frozenset(received), frozenset(kept), frozenset(clients), frozenset(sent))


def _model(payload: Payload) -> tuple[str, str]:
    if not isinstance(payload, ModelSpec):
        return "", ""
    return payload.kind, str(payload.config.get("output", ""))
