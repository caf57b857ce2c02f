"""The two ends of an attack: a view on disk, in a folder that holds nothing else, and the guess as bytes.

Equal values give equal bytes, and only those. This is all of the file format that the process of an attack needs:
nothing here knows of the whole run. What comes back from that process may be anybody's: it is read as strictly as a
stranger's file, and becomes plain arrays whatever was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from fedleak.core.adversary import Secret
from fedleak.core.arrays import AnyArray, freeze
from fedleak.core.attack import Guess
from fedleak.core.errors import FileFormatError, InputError, nearest_or_list
from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge, KnownCells, KnownColumn, KnownLabels, PublicSample
from fedleak.core.oracle import Exchange, Oracle, OracleSpec, ReplayOracle
from fedleak.core.payload import Payload
from fedleak.core.transcript import Message, Record, StoredMessages, StoredSequence
from fedleak.core.view import View
from fedleak.schema import strict_json
from fedleak.schema.codec_containers import codec_for
from fedleak.schema.strict_json import Malformed, shown
from fedleak.storage.folder import ContentT, FolderKind
from fedleak.storage.folder_reader import FolderReader, Lines, MessageLines
from fedleak.storage.folder_writer import FolderWriter
from fedleak.storage.safe_files import DEFAULT_LIMITS, Limits
from fedleak.storage.segments import DTYPES, ArrayRef, aligned, ref_for, storable_bytes
from fedleak.storage.stored_form import STORED, reading_within


@dataclass(frozen=True)
class ViewContent:
    coalition: tuple[str, ...]
    target: Secret
    facts: Facts
    locals: tuple[str, ...]  # the coalition's members whose records are known
    oracles: Mapping[str, OracleSpec]


@dataclass(frozen=True, eq=False)
class LocalRecord:
    party: str
    record: Record


@dataclass(frozen=True, eq=False)
class OracleExchange:
    oracle: str
    exchange: Exchange


def _check_belongs(entry: object, content: ViewContent) -> None:
    """A view holds what its coalition sees, and no more: the rule that attacks rest on, kept on disk too."""
    match entry:
        case Message(sender=sender, receiver=receiver) if not entry.concerns(frozenset(content.coalition)):
            raise Malformed(f"message must be to or from the coalition; got {shown(sender)} to {shown(receiver)}")
        case LocalRecord(party) if party not in content.locals or party not in content.coalition:
            raise Malformed(f"party must be in the coalition and in the header's locals; got {shown(party)}")
        case OracleExchange(oracle) if oracle not in content.oracles:
            raise Malformed(f"oracle must be one that the header describes; got {shown(oracle)}")


VIEW = FolderKind(
    "view",
    ViewContent,
    {
        "message": Message,
        "record": LocalRecord,
        "known-cells": KnownCells,
        "known-column": KnownColumn,
        "public-sample": PublicSample,
        "known-labels": KnownLabels,
        "exchange": OracleExchange,
    },
    _check_belongs,
)


def save_view(
    view: View, path: str | PathLike[str], *, overwrite: bool = False, limits: Limits = DEFAULT_LIMITS
) -> None:
    specs = {name: oracle.spec for name, oracle in view.oracles.items()}
    content = ViewContent(view.coalition, view.target, view.facts, tuple(view.locals), specs)
    with FolderWriter(Path(path), VIEW, limits, overwrite=overwrite, content=content) as writer:
        for entry in _entries(view):
            writer.add(entry)
        writer.finish(content)


def load_view(
    path: str | PathLike[str], oracles: Mapping[str, Oracle] | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> View:
    """With live oracles where they are given; the others replay their logs."""
    folder = FolderReader(Path(path), VIEW, limits)
    content, live = folder.content, dict(oracles or {})
    unknown = live.keys() - content.oracles.keys()
    if unknown:
        name = min(unknown)
        raise InputError(f"{path} has no oracle {name!r} to attach{nearest_or_list(name, content.oracles)}")
    found = _sorted_out(folder)
    attached = {
        name: live[name] if name in live else ReplayOracle(spec, tuple(found.logs[name]))
        for name, spec in content.oracles.items()
    }
    return View(
        coalition=content.coalition,
        target=content.target,
        facts=content.facts,
        messages=stored_messages(folder, found.messages),
        locals={party: stored_records(folder, lines) for party, lines in found.records.items()},
        knowledge=Knowledge(tuple(found.cells), tuple(found.columns), tuple(found.samples), tuple(found.labels)),
        oracles=attached,
    )


def stored_messages(folder: FolderReader[ContentT], lines: MessageLines) -> StoredMessages:
    return StoredMessages(lines.numbers, lines.keys, lambda line: folder.entry(line, Message), lines.routes)


def stored_records(folder: FolderReader[ContentT], lines: Lines) -> StoredSequence[Record]:
    return StoredSequence(lines.numbers, lines.keys, lambda line: folder.entry(line, LocalRecord).record)


def _entries(view: View) -> Iterator[object]:
    yield from view.messages
    for party, records in view.locals.items():
        for record in records:
            yield LocalRecord(party, record)
    yield from view.knowledge.cells
    yield from view.knowledge.columns
    yield from view.knowledge.samples
    yield from view.knowledge.labels
    for name, oracle in view.oracles.items():
        for exchange in oracle.log:
            yield OracleExchange(name, exchange)


@dataclass(eq=False)
class _SortedOut:
    """The entries of a view by kind; of messages and records, only the lines."""

    records: dict[str, Lines]
    logs: dict[str, list[Exchange]]
    messages: MessageLines = field(default_factory=MessageLines)
    cells: list[KnownCells] = field(default_factory=list)
    columns: list[KnownColumn] = field(default_factory=list)
    samples: list[PublicSample] = field(default_factory=list)
    labels: list[KnownLabels] = field(default_factory=list)

    def add(self, line: int, entry: object) -> None:
        match entry:
            case Message():
                self.messages.add_message(line, entry)
            case LocalRecord(party, record):
                self.records[party].add(line, record.name)
            case KnownCells():
                self.cells.append(entry)
            case KnownColumn():
                self.columns.append(entry)
            case PublicSample():
                self.samples.append(entry)
            case KnownLabels():
                self.labels.append(entry)
            case OracleExchange(oracle, exchange):
                self.logs[oracle].append(exchange)


def _sorted_out(folder: FolderReader[ViewContent]) -> _SortedOut:
    content = folder.content
    found = _SortedOut({party: Lines() for party in content.locals}, {name: [] for name in content.oracles})
    for line, entry in folder.entries():
        found.add(line, entry)
    return found


_GUESS = b"fedleak guess 1\n"
_PAYLOAD = b"fedleak payload 1\n"


def guess_to_bytes(guess: Guess) -> bytes:
    return _to_bytes(_GUESS, Guess, guess)


def guess_from_bytes(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Guess:
    found = _from_bytes(_GUESS, Guess, data, limits)
    assert isinstance(found, Guess)
    return found


def payload_to_bytes(payload: Payload) -> bytes:
    return _to_bytes(_PAYLOAD, Payload, payload)


def payload_from_bytes(data: bytes, *, limits: Limits = DEFAULT_LIMITS) -> Payload:
    found: Payload = _from_bytes(_PAYLOAD, Payload, data, limits)
    return found


def _to_bytes(magic: bytes, kind: Any, value: object) -> bytes:
    """A line of JSON with sorted keys, then the arrays' bytes at the offsets that it names."""
    body = bytearray()

    def append(array: AnyArray) -> ArrayRef:
        body.extend(bytes(aligned(len(body)) - len(body)))
        ref = ref_for(array, segment=0, offset=len(body))
        body.extend(storable_bytes(array))
        return ref

    try:
        head = strict_json.compact_sorted(codec_for(kind, STORED).encode(value, append))
    except Malformed as error:
        raise FileFormatError(f"{_what(magic)} cannot be stored: {error}") from error
    return magic + head + b"\n" + bytes(body)


def _from_bytes(magic: bytes, kind: Any, data: bytes, limits: Limits) -> Any:
    end = data.find(b"\n", len(magic))
    if not data.startswith(magic) or not 0 <= end - len(magic) <= limits.header_bytes:
        raise FileFormatError(f"{_what(magic)} must begin with its name and a line of JSON; got other bytes")
    body = memoryview(data)[end + 1 :]

    def resolve(ref: ArrayRef) -> AnyArray:
        if ref.segment != 0 or ref.offset + ref.n_bytes > len(body):
            raise Malformed(f"array must lie inside the {len(body)} bytes that follow; got {ref}")
        flat: AnyArray = np.frombuffer(body[ref.offset : ref.offset + ref.n_bytes], dtype=DTYPES[ref.dtype])
        if flat.dtype.kind == "b" and flat.view(np.uint8).max(initial=0) > 1:
            raise Malformed("booleans must be stored as 0 or 1; got another byte")
        return freeze(flat.reshape(ref.shape))

    try:
        value = strict_json.parse(data[len(magic) : end])
        return codec_for(kind, STORED).decode(value, reading_within(limits, resolve))
    except Malformed as error:
        raise FileFormatError(f"{_what(magic)}: {error}") from error


def _what(magic: bytes) -> str:
    return magic.decode().split()[1]
