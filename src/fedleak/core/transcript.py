"""What passes between parties, what a party keeps, and the whole of what went over the wire in a run.

Runs have thousands of messages, more than memory holds: a ``Keyed`` sequence knows each one's step, or each record's
name, without reading it, and keeps nothing that it has read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar, overload

from fedleak.core.facts import Facts
from fedleak.core.payload import Payload

EVERYONE = "*"  # the receiver of a public message


class Route(NamedTuple):
    """Who a message is from and to: all that decides whether a coalition has it."""

    sender: str
    receiver: str

    def concerns(self, coalition: frozenset[str]) -> bool:
        return self.receiver == EVERYONE or self.sender in coalition or self.receiver in coalition


@dataclass(frozen=True, eq=False)
class Message:
    """One message on the wire. ``round`` counts the protocol's iterations; setup is round -1."""

    step: str
    round: int
    sender: str
    receiver: str
    payload: Payload

    @property
    def route(self) -> Route:
        return Route(self.sender, self.receiver)

    def concerns(self, coalition: frozenset[str]) -> bool:
        return self.route.concerns(coalition)


@dataclass(frozen=True, eq=False)
class Record:
    """Something that a party has or computed at a step: its data, a key, a mask, its gradient."""

    step: str
    round: int
    name: str
    value: Payload


SETUP_ROUND = -1
# Before a digest, the name of a record of what the recording party's key would open in the message of that digest. The
# ideal cipher has no key that could be kept: the record stands in for it, and is of use only to who has the message.
OPENS = "opens-"


@dataclass(frozen=True, eq=False)
class Transcript:
    facts: Facts
    messages: Sequence[Message]

    def concerning(self, coalition: frozenset[str]) -> Sequence[Message]:
        """What the coalition has of it. Of messages in a store, none is read for it."""
        if isinstance(self.messages, StoredMessages):
            return self.messages.concerning(coalition)
        return tuple(message for message in self.messages if message.concerns(coalition))


ItemT = TypeVar("ItemT", covariant=True)


class Keyed(Sequence[ItemT]):
    """Items that are dear to read, such as those on disk; ``keys`` has a word for each."""

    keys: Sequence[str]


class StoredSequence(Keyed[ItemT]):
    """Items at some places of a store, such as lines of an index: each is read whenever it is asked for."""

    def __init__(self, places: Sequence[int], keys: Sequence[str], read: Callable[[int], ItemT]) -> None:
        self._places = places
        self.keys = keys
        self._read = read

    def chosen(self, positions: Sequence[int]) -> StoredSequence[ItemT]:
        """Those at these positions, still unread."""
        return StoredSequence(_those(self._places, positions), _those(self.keys, positions), self._read)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, position: int) -> ItemT: ...
    @overload
    def __getitem__(self, position: slice) -> StoredSequence[ItemT]: ...
    def __getitem__(self, position: int | slice) -> ItemT | StoredSequence[ItemT]:
        if isinstance(position, slice):
            return self.chosen(range(len(self))[position])
        return self._read(self._places[position])

    def __iter__(self) -> Iterator[ItemT]:
        return map(self._read, self._places)

    def __reduce__(self) -> tuple[object, ...]:
        """In another process there is no store: the items themselves go there, read one after the other."""
        return list, (), None, iter(self)


class StoredMessages(StoredSequence[Message]):
    """Which of them a coalition has is known without reading any."""

    def __init__(
        self, places: Sequence[int], keys: Sequence[str], read: Callable[[int], Message], routes: Sequence[Route]
    ) -> None:
        super().__init__(places, keys, read)
        self._routes = routes

    def chosen(self, positions: Sequence[int]) -> StoredMessages:
        chosen = super().chosen(positions)
        return StoredMessages(chosen._places, chosen.keys, self._read, _those(self._routes, positions))

    def concerning(self, coalition: frozenset[str]) -> StoredMessages:
        return self.chosen([position for position, route in enumerate(self._routes) if route.concerns(coalition)])


def _those(found: Sequence[ItemT], positions: Sequence[int]) -> Sequence[ItemT]:
    return [found[position] for position in positions]


def positions_by_key(items: Sequence[ItemT], key: Callable[[ItemT], str]) -> Mapping[str, Sequence[int]]:
    """Where the items of each word are, in order."""
    words: Iterable[str] = items.keys if isinstance(items, Keyed) else map(key, items)
    found: dict[str, array[int]] = {}
    for position, word in enumerate(words):
        found.setdefault(word, array("Q")).append(position)
    return found
