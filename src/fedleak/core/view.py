"""What a coalition of parties sees: the one input of every attack."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fedleak.core.adversary import Secret
from fedleak.core.arrays import Value, read_only
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge
from fedleak.core.oracle import Oracle
from fedleak.core.payload import Array, Payload, Table
from fedleak.core.steps import RecordName, Step
from fedleak.core.transcript import Message, Record, positions_by_key


@dataclass(frozen=True, eq=False)
class View(Value):
    """Public facts, the coalition's messages and records, declared knowledge, oracles. Read-only."""

    coalition: tuple[str, ...]
    target: Secret  # what the adversary is after
    facts: Facts
    messages: Sequence[Message]
    locals: Mapping[str, Sequence[Record]]
    knowledge: Knowledge = field(default_factory=Knowledge)
    oracles: Mapping[str, Oracle] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "locals", read_only(self.locals))
        object.__setattr__(self, "oracles", read_only(self.oracles))

    def records(self, name: RecordName | str, party: str | None = None) -> Iterator[Record]:
        """The coalition's records of that name, in the order in which they arose.

        A name from a vocabulary, or a plain text for what somebody else recorded.
        """
        members = self.coalition if party is None else (party,)
        for member in members:
            for position in self._records_by_name.get(member, {}).get(str(name), ()):
                yield self.locals[member][position]

    def names(self, party: str) -> Iterable[str]:
        """Of a member's records, each once."""
        return self._records_by_name.get(party, {}).keys()

    def record(self, name: RecordName | str, party: str | None = None) -> Payload:
        """The last record of that name; what a party has at the end."""
        found = deque(self.records(name, party), maxlen=1)
        if not found:
            raise MissingFromViewError(f"the view of {', '.join(self.coalition)} holds no record {str(name)!r}")
        return found[0].value

    def array(self, name: RecordName | str, party: str | None = None) -> Array:
        value = self.record(name, party)
        if not isinstance(value, Array):
            raise MissingFromViewError(f"record {str(name)!r} must be an array; got {type(value).__name__}")
        return value

    def table(self, name: RecordName | str, party: str | None = None) -> Table:
        value = self.record(name, party)
        if not isinstance(value, Table):
            raise MissingFromViewError(f"record {str(name)!r} must be a table; got {type(value).__name__}")
        return value

    def at(self, step: Step[Any], receiver: str | None = None) -> Iterator[Message]:
        """The messages of a step, in order."""
        for position in self._messages_by_step.get(step.name, ()):
            message = self.messages[position]
            if receiver is None or message.receiver == receiver:
                yield message

    @cached_property
    def _messages_by_step(self) -> Mapping[str, Sequence[int]]:
        return positions_by_key(self.messages, lambda message: message.step)

    @cached_property
    def _records_by_name(self) -> Mapping[str, Mapping[str, Sequence[int]]]:
        return {party: positions_by_key(records, lambda record: record.name) for party, records in self.locals.items()}
