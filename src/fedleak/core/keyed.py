"""Sequences that know a word for each item without reading it: a message's step, a record's name."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

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
