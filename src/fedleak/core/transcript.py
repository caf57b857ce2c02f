"""What passes between parties, what a party keeps, and the whole of what went over the wire in a run.

Runs have thousands of messages: a ``Keyed`` sequence knows each one's step, or each record's name, without reading it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fedleak.core.facts import Facts
from fedleak.core.payload import Payload

EVERYONE = "*"  # the receiver of a public message


@dataclass(frozen=True, eq=False)
class Message:
    """One message on the wire. ``round`` counts the protocol's iterations; setup is round -1."""

    step: str
    round: int
    sender: str
    receiver: str
    payload: Payload

    def concerns(self, coalition: frozenset[str]) -> bool:
        return self.receiver == EVERYONE or self.sender in coalition or self.receiver in coalition


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


ItemT = TypeVar("ItemT", covariant=True)


class Keyed(Sequence[ItemT]):
    """Items that are dear to read, such as those on disk; ``keys`` has a word for each."""

    keys: Sequence[str]


def positions_by_key(items: Sequence[ItemT], key: Callable[[ItemT], str]) -> Mapping[str, Sequence[int]]:
    """Where the items of each word are, in order."""
    words: Iterable[str] = items.keys if isinstance(items, Keyed) else map(key, items)
    found: dict[str, array[int]] = {}
    for position, word in enumerate(words):
        found.setdefault(word, array("Q")).append(position)
    return found
