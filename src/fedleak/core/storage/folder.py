"""What the three kinds of stored folder have in common: a header, an index, segments.

header.json            what it is, in which version, with which facts; how many entries and segments follow
index.jsonl            an entry a line: a message, a record, a piece of knowledge ...
segments/0000.npy ...  the numbers of all arrays, one after the other
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

SCHEMA_VERSION = 1
FORMAT_NAME = "fedleak"

ContentT = TypeVar("ContentT")


def _nothing_to_check(entry: object, content: object) -> None:
    pass


@dataclass(frozen=True)
class FolderKind(Generic[ContentT]):
    """A kind of folder: what its header says beyond the common part, and which entries it has."""

    name: str
    content: type[ContentT]
    entries: Mapping[str, type]
    check: Callable[[object, ContentT], None] = _nothing_to_check  # raises Malformed if entry and header disagree


@dataclass(frozen=True)
class Preamble:
    """The common part of every header."""

    format: str
    schema_version: int
    kind: str
    fedleak_version: str
    n_entries: int
    n_segments: int
