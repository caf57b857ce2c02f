"""A view on disk: what an attack gets, in a folder of its own that holds nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.core.hints import nearest_or_list
from fedleak.core.knowledge import Knowledge, KnownCells, KnownColumn, PublicSample
from fedleak.core.message import Message
from fedleak.core.oracle import Exchange, Oracle, OracleSpec, ReplayOracle
from fedleak.core.secret import Secret
from fedleak.core.storage.capture import LocalRecord, stored_messages, stored_records
from fedleak.core.storage.folder import FolderKind
from fedleak.core.storage.folder_reader import FolderReader, Lines
from fedleak.core.storage.folder_writer import FolderWriter
from fedleak.core.storage.limits import DEFAULT_LIMITS, Limits
from fedleak.core.storage.malformed import Malformed, shown
from fedleak.core.view import View


@dataclass(frozen=True)
class ViewContent:
    coalition: tuple[str, ...]
    target: Secret
    facts: Facts
    locals: tuple[str, ...]  # the coalition's members whose records are known
    oracles: Mapping[str, OracleSpec]


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
        knowledge=Knowledge(tuple(found.cells), tuple(found.columns), tuple(found.samples)),
        oracles=attached,
    )


def _entries(view: View) -> Iterator[object]:
    yield from view.messages
    for party, records in view.locals.items():
        for record in records:
            yield LocalRecord(party, record)
    yield from view.knowledge.cells
    yield from view.knowledge.columns
    yield from view.knowledge.samples
    for name, oracle in view.oracles.items():
        for exchange in oracle.log:
            yield OracleExchange(name, exchange)


@dataclass(eq=False)
class _SortedOut:
    """The entries of a view by kind; of messages and records, only the lines."""

    records: dict[str, Lines]
    logs: dict[str, list[Exchange]]
    messages: Lines = field(default_factory=Lines)
    cells: list[KnownCells] = field(default_factory=list)
    columns: list[KnownColumn] = field(default_factory=list)
    samples: list[PublicSample] = field(default_factory=list)

    def add(self, line: int, entry: object) -> None:
        match entry:
            case Message():
                self.messages.add(line, entry.step)
            case LocalRecord(party, record):
                self.records[party].add(line, record.name)
            case KnownCells():
                self.cells.append(entry)
            case KnownColumn():
                self.columns.append(entry)
            case PublicSample():
                self.samples.append(entry)
            case OracleExchange(oracle, exchange):
                self.logs[oracle].append(exchange)


def _sorted_out(folder: FolderReader[ViewContent]) -> _SortedOut:
    content = folder.content
    found = _SortedOut({party: Lines() for party in content.locals}, {name: [] for name in content.oracles})
    for line, entry in folder.entries():
        found.add(line, entry)
    return found
