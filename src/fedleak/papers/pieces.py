"""An experiment in pieces that know nothing of one another: an engine measures them side by side, on any machine.

What a piece finds is kept in the journal by its keys, and rows are made of the journal: they are the same whoever
measured, and in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

from fedleak.engines.code_version import code_version
from fedleak.engines.engine import Engine, Work, on_one_core
from fedleak.trial.measured_journal import Entry, MeasuredJournal
from fedleak.trial.progress import Progress
from fedleak.trial.provenance import data_read, this_machine
from fedleak.trial.spent import cpu_seconds

NOTHING = "nothing"  # is what pieces share: each reads its own data


@dataclass(frozen=True)
class Piece:
    """``measure`` puts a value for each of the keys into the journal that it is given, and may return what it likes."""

    keys: tuple[object, ...]
    measure: Callable[[MeasuredJournal], Any]

    def is_in(self, journal: MeasuredJournal) -> bool:
        return all(journal.of(key) is not None for key in self.keys)


def one_value(key: object, measure: Callable[[], Any]) -> Piece:
    return Piece((key,), partial(_measured, key, measure))


def _measured(key: object, measure: Callable[[], Any], journal: MeasuredJournal) -> Any:
    return journal.measured(key, measure)


@dataclass(frozen=True)
class Found:
    entries: tuple[Entry, ...]
    code: str


@dataclass(frozen=True)
class Ahead:
    """What was measured side by side."""

    cpu_seconds: float = 0.0  # wherever that was
    complete: bool = True  # False where it was interrupted


def measure_side_by_side(
    pieces: Sequence[Piece], journal: MeasuredJournal, engine: Engine, progress: Progress
) -> Ahead:
    """What the journal does not have."""
    works = [_work(piece, engine.words) for piece in pieces if not piece.is_in(journal)]
    if not works:
        return Ahead()
    progress.begin("pieces", len(works))
    spent = 0.0
    try:
        with closing(engine.done(works, {NOTHING: None})) as done:
            for _, found in done:
                for entry in found.entries:
                    journal.take(entry)
                    spent += entry.cpu_seconds
                progress.advance()
    except KeyboardInterrupt:
        return Ahead(spent, complete=False)
    return Ahead(spent)


def _work(piece: Piece, engine: str) -> Work:
    """One key has one result, whoever asks a cluster for it."""
    key = sha256(repr((piece.keys, code_version())).encode()).hexdigest()[:16]
    return Work(key, partial(_done, piece, engine), NOTHING)


def _done(piece: Piece, engine: str, _: object) -> Found:
    journal, began = MeasuredJournal(), cpu_seconds()
    with on_one_core():
        piece.measure(journal)
        spent = cpu_seconds() - began - sum(entry.cpu_seconds for entry in journal.entries)
    by = f"{engine}: {this_machine()}"
    entries = [replace(entry, by=by, data_sha256=data_read()) for entry in journal.entries]
    # What the values of a piece have in common, a training for instance, took its time as well.
    first = replace(entries[0], cpu_seconds=entries[0].cpu_seconds + spent)
    return Found((first, *entries[1:]), code_version())
