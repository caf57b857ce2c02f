"""An experiment in pieces that know nothing of one another: an engine measures them side by side, on any machine.

What a piece finds is kept in the journal by its keys, and rows are made of the journal: they are the same whoever
measured, and in whatever order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

from fedleak.engines.code_version import code_version
from fedleak.engines.engine import Engine, Work, on_one_core
from fedleak.trial.measured_journal import Entry, MeasuredJournal
from fedleak.trial.progress import Progress

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


def measure_side_by_side(
    pieces: Sequence[Piece], journal: MeasuredJournal, engine: Engine, progress: Progress
) -> float:
    """What the journal does not have; the CPU seconds that it took, wherever that was."""
    works = [_work(piece) for piece in pieces if not piece.is_in(journal)]
    spent = 0.0
    for _, found in engine.done(works, {NOTHING: None}) if works else ():
        for entry in found.entries:
            journal.take(entry)
            spent += entry.cpu_seconds
        progress.advance()
    return spent


def _work(piece: Piece) -> Work:
    key = sha256(repr(piece.keys).encode()).hexdigest()[:16]
    return Work(key, partial(_done, piece), NOTHING)


def _done(piece: Piece, _: object) -> Found:
    journal = MeasuredJournal()
    with on_one_core():
        piece.measure(journal)
    return Found(journal.entries, code_version())
