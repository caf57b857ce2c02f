"""A party while a protocol runs: it computes, sends, receives and remembers, with its hooks applied.

Protocols are written against this class alone, so a defense or a deviation reaches every step
without the protocol knowing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Payload
from fedleak.core.steps import RecordName, Role, Step
from fedleak.core.transcript import EVERYONE, SETUP_ROUND, Message, Record
from fedleak.core.whole.hooks import Hook, HookKind
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Sink

ValueT = TypeVar("ValueT")
InputsT = TypeVar("InputsT")
PayloadT = TypeVar("PayloadT", bound=Payload)


class Actor:
    """``rng`` is the randomness of the honest protocol; that of the hooks is apart, so that
    a hook does not shift what the protocol draws."""

    def __init__(self, name: str, role: Role, hooks: Sequence[Hook[Any]], sink: Sink, randomness: Randomness) -> None:
        self.name = name
        self.role = role
        self.round = SETUP_ROUND
        self.rng, self._hook_rng = randomness.secret(name, "protocol"), randomness.secret(name, "hooks")
        self._hooks = [hook for hook in hooks if hook.party == name]
        self._sink = sink
        self._latest: dict[str, Payload] = {}

    def record(self, step: Step[Any], name: RecordName, value: Payload) -> None:
        self._latest[name.name] = value
        self._sink.record(self.name, Record(step.name, self.round, name.name, value))

    def latest(self, name: RecordName) -> Payload:
        if name.name not in self._latest:
            raise MissingFromViewError(f"{self.name} has no record {name.name!r} yet")
        return self._latest[name.name]

    def take_in(self, step: Step[ValueT], value: ValueT) -> ValueT:
        """The party's own data enters."""
        return self._through(HookKind.INPUT, step, value)

    def compute(self, step: Step[ValueT], inputs: InputsT, honest: Callable[[InputsT], ValueT]) -> ValueT:
        """What the party computes at a step; a hook replaces the honest way."""
        replacements = self._at(HookKind.COMPUTE, step)
        if not replacements:
            return honest(inputs)
        result: ValueT = replacements[-1].act(inputs, self, self._hook_rng)
        return result

    def outgoing(self, step: Step[ValueT], value: ValueT) -> ValueT:
        """The copy of a value that leaves the party; its own copy stays as it is."""
        return self._through(HookKind.SEND, step, value)

    def send(self, step: Step[Any], receiver: Actor, payload: PayloadT) -> PayloadT:
        """Send to one party; returns what the receiver takes in."""
        sent = self._through(HookKind.SEND, step, payload)
        self._sink.message(Message(step.name, self.round, self.name, receiver.name, sent))
        return receiver._through(HookKind.RECEIVE, step, sent)

    def publish(self, step: Step[Any], payload: PayloadT) -> PayloadT:
        """Send to everybody."""
        sent = self._through(HookKind.SEND, step, payload)
        self._sink.message(Message(step.name, self.round, self.name, EVERYONE, sent))
        return sent

    def _at(self, kind: HookKind, step: Step[Any]) -> list[Hook[Any]]:
        return [hook for hook in self._hooks if hook.kind is kind and hook.step.name == step.name]

    def _through(self, kind: HookKind, step: Step[Any], value: ValueT) -> ValueT:
        for hook in self._at(kind, step):
            value = hook.act(value, self, self._hook_rng)
        return value


def start_round(actors: Sequence[Actor], number: int) -> None:
    for actor in actors:
        actor.round = number
