"""Reads a folder that a stranger may have written: all of it is checked once, then decoded on access."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import FileFormatError
from fedleak.core.transcript import Message, Route
from fedleak.storage import safe_files, strict_json, version_1
from fedleak.storage.codec import Reading
from fedleak.storage.codec_containers import TaggedCodec, decode
from fedleak.storage.folder import (
    FORMAT_NAME,
    HEADER,
    INDEX,
    READABLE_VERSIONS,
    SCHEMA_VERSION,
    ContentT,
    FolderKind,
    Preamble,
)
from fedleak.storage.safe_files import Limits
from fedleak.storage.segments import ArrayRef, SegmentReader
from fedleak.storage.strict_json import Malformed, shown

ItemT = TypeVar("ItemT")


class FolderReader(Generic[ContentT]):
    def __init__(self, path: Path, kind: FolderKind[ContentT], limits: Limits) -> None:
        if not os.path.isdir(path):
            what = "something else" if os.path.lexists(path) else "nothing there"
            raise FileFormatError(f"{path} must be a folder with a stored {kind.name}; got {what}")
        self._path = path = path.absolute()  # entries are read later, perhaps from another working directory
        self._kind = kind
        self._limits = limits
        self._entry = TaggedCodec("entry", kind.entries)
        self._preamble, self.content = self._read_header()
        self._segments = SegmentReader(path, self._preamble.n_segments, limits)
        self._index = safe_files.map_whole(path / INDEX, limits.total_bytes)
        self._check_total()
        self._ends = self._line_ends()

    def entries(self) -> Iterator[tuple[int, object]]:
        """Every entry with its line, in order; arrays that overlap or are out of order are refused."""
        in_order = _InOrder(self._segments)
        for line in range(len(self._ends)):
            entry = self._decode(line, in_order.array)
            with self._explained(INDEX, line):
                self._kind.check(entry, self.content)
            yield line, entry

    def entry(self, line: int, kind: type[ItemT]) -> ItemT:
        entry = self._decode(line, self._segments.array)
        if not isinstance(entry, kind):
            raise FileFormatError(f"{self._path / INDEX}, line {line + 1} must stay as it was; it changed while in use")
        return entry

    def _decode(self, line: int, resolve: Callable[[ArrayRef], AnyArray]) -> object:
        start = self._ends[line - 1] + 1 if line else 0
        with self._explained(INDEX, line):
            value = strict_json.parse(bytes(self._index[start : self._ends[line]]))
            return self._entry.decode(value, Reading(self._limits, resolve))

    def _read_header(self) -> tuple[Preamble, ContentT]:
        text = safe_files.read_whole(self._path / HEADER, self._limits.header_bytes)
        with self._explained(HEADER):
            header = strict_json.parse(text)
            if not isinstance(header, dict) or header.keys() != {"preamble", "content"}:
                raise Malformed("header must be an object with the keys preamble and content, and no others")
            reading = Reading(self._limits, _no_arrays)
            preamble = self._checked_preamble(header["preamble"], reading)
            content = header["content"] if preamble.schema_version > 1 else version_1.translated(header["content"])
            return preamble, decode(self._kind.content, content, reading)

    def _checked_preamble(self, value: object, reading: Reading) -> Preamble:
        version = value.get("schema_version") if isinstance(value, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:  # first: a newer version may differ in all else
            raise Malformed(f"schema_version must be at most {SCHEMA_VERSION}; got {version}. Install a newer fedleak")
        preamble = decode(Preamble, value, reading)
        if preamble.format != FORMAT_NAME:
            raise Malformed(f"format must be {FORMAT_NAME}; got {shown(preamble.format)}")
        if preamble.schema_version not in READABLE_VERSIONS:
            raise Malformed(f"schema_version must be from 1 to {SCHEMA_VERSION}; got {preamble.schema_version}")
        if preamble.kind != self._kind.name:
            raise Malformed(f"kind must be {self._kind.name}; got {shown(preamble.kind)}")
        if not 0 <= preamble.n_entries <= self._limits.n_entries:
            raise Malformed(f"n_entries must be 0 to {self._limits.n_entries}; got {preamble.n_entries}")
        if not 0 <= preamble.n_segments <= self._limits.n_segments:
            raise Malformed(f"n_segments must be 0 to {self._limits.n_segments}; got {preamble.n_segments}")
        return preamble

    def _check_total(self) -> None:
        total = len(self._index) + self._segments.n_bytes()
        if total > self._limits.total_bytes:
            raise FileFormatError(f"{self._path} must have at most {self._limits.total_bytes} bytes; got {total}")

    def _line_ends(self) -> array[int]:
        """Where each line of the index ends. Only these numbers are kept in memory."""
        ends = array("Q")
        start, n_entries = 0, self._preamble.n_entries
        while start < len(self._index) and len(ends) < n_entries:
            end = self._index.find(b"\n", start, start + self._limits.line_bytes)
            if end < 0:
                with self._explained(INDEX, len(ends)):
                    raise Malformed(f"line must end within {self._limits.line_bytes} bytes; it is too long or cut off")
            ends.append(end)
            start = end + 1
        if len(ends) < n_entries or start < len(self._index):
            got = "more" if start < len(self._index) else len(ends)
            raise FileFormatError(f"{self._path / INDEX} must have {n_entries} lines, as {HEADER} says; got {got}")
        return ends

    @contextmanager
    def _explained(self, file_name: str, line: int | None = None) -> Iterator[None]:
        place = f"{self._path / file_name}" + ("" if line is None else f", line {line + 1}")
        try:
            yield
        except Malformed as error:
            raise FileFormatError(f"{place}: {error}") from error
        except RecursionError as error:
            raise FileFormatError(f"{place}: value must not be nested this deep") from error


class _InOrder:
    """Arrays in the order of the index, none twice: a small folder cannot pretend to hold much."""

    def __init__(self, segments: SegmentReader) -> None:
        self._segments = segments
        self._free = (0, 0)  # the first segment and offset that no array has taken

    def array(self, ref: ArrayRef) -> AnyArray:
        if (ref.segment, ref.offset) < self._free:
            raise Malformed(f"arrays must follow one another without overlap; got {ref} after {self._free}")
        found = self._segments.array(ref)
        self._free = (ref.segment, ref.offset + ref.n_bytes)
        return found


class Lines:
    """Lines of an index, with the word under which each is looked for."""

    def __init__(self) -> None:
        self.numbers = array("Q")
        self.keys: list[str] = []

    def add(self, line: int, key: str) -> None:
        self.numbers.append(line)
        self.keys.append(sys.intern(key))  # few words, many lines


class MessageLines(Lines):
    """With who each message is from and to."""

    def __init__(self) -> None:
        super().__init__()
        self.routes: list[Route] = []
        self._known: dict[Route, Route] = {}

    def add_message(self, line: int, message: Message) -> None:
        self.add(line, message.step)
        self.routes.append(self._known.setdefault(message.route, message.route))  # few pairs, many lines


def _no_arrays(ref: ArrayRef) -> AnyArray:
    raise Malformed(f"header must hold no arrays; got {ref}")
