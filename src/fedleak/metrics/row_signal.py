"""The units whose order luck shuffles: rows of a table, persons over all rounds, or both sides of a table of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import Index, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray, Value, flat_rows
from fedleak.metrics.cell_metrics import margin_of
from fedleak.metrics.metric import Answered
from fedleak.metrics.other_rules import spanned

MAX_UNITS = 4000  # of more, every second or third
PAIRS = frozenset({SecretKind.GRAM, SecretKind.COLUMN_PRODUCTS})  # of rows with rows, of columns with columns


@dataclass(frozen=True, eq=False)
class Signal(Value):
    """(units, columns) throughout. ``blinds`` are those that differ from row to row; ``constants`` all others.
    ``margin`` None: nothing is ever hit, as these are means over rounds."""

    true: FloatArray
    answers: tuple[FloatArray, ...]
    counted: BoolArray
    blinds: tuple[FloatArray, ...]
    constants: tuple[FloatArray, ...] = ()
    margin: FloatArray | None = None
    both_sides: bool = False
    own: FloatArray | None = None  # (units, directions) that the adversary's own columns span


def signal_of(answered: Answered) -> Signal:
    kind = answered.guess.secret.kind
    if kind in PAIRS:
        return _of_pairs(answered)
    return _of_persons(answered) if kind.indexed_by is Index.ROUND_AND_ROW else _of_rows(answered)


def _of_rows(answered: Answered) -> Signal:
    true = flat_rows(answered.truth.values)
    step = -(-len(true) // MAX_UNITS)
    return Signal(
        true[::step],
        tuple(flat_rows(answer)[::step] for answer in answered.answers),
        flat_rows(answered.unknown)[::step],
        tuple(blind.cells[::step] for blind in answered.blinds if blind.by_row),
        tuple(blind.cells for blind in answered.blinds if not blind.by_row),
        margin_of(answered.truth).ravel(),
        own=None if answered.own is None else spanned(answered.own.beside[::step]),
    )


def _of_persons(answered: Answered) -> Signal:
    """A person is in many rounds, and alike in all of them: its mean over rounds, each round centred, is one unit."""
    rounds = _Rounds.of(answered.truth.ids)
    answers = tuple(rounds.units(flat_rows(answer)) for answer in answered.answers)
    blinds = tuple(rounds.units(blind.cells) for blind in answered.blinds if blind.by_row)
    true = rounds.units(flat_rows(answered.truth.values))
    own = None if answered.own is None else spanned(rounds.units(answered.own.beside))
    return Signal(true, answers, np.ones(true.shape, dtype=np.bool_), blinds, own=own)


@dataclass(frozen=True, eq=False)
class _Rounds(Value):
    """Whose cells are whose, and in which round; of many persons, every second or third."""

    rounds: IntArray
    persons: IntArray
    step: int

    @classmethod
    def of(cls, ids: IntArray) -> _Rounds:
        _, rounds = np.unique(ids[:, 0], return_inverse=True)
        known, persons = np.unique(ids[:, -1], return_inverse=True)
        return cls(rounds, persons, -(-len(known) // MAX_UNITS))

    def units(self, cells: FloatArray) -> FloatArray:
        """(persons, columns). A column after the other: a table of millions of rows is not held several times."""
        return np.column_stack([self._unit(column) for column in cells.T])

    def _unit(self, column: FloatArray) -> FloatArray:
        return _means(column - _means(column, self.rounds)[self.rounds], self.persons)[:: self.step]


def _means(column: FloatArray, groups: IntArray) -> FloatArray:
    """Of each group, over the cells that were told; NaN where none was."""
    told = np.isfinite(column)
    sums = np.bincount(groups, weights=np.where(told, column, 0.0))
    counts = np.bincount(groups, weights=told)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _of_pairs(answered: Answered) -> Signal:
    """The square of those that are on both sides; of a part of the rows, their products with one another."""
    truth = answered.truth
    sides = _sides(answered)
    true, step = truth.values[:, sides], -(-len(sides) // (MAX_UNITS // 10))
    kept = np.arange(0, len(sides), step)
    cut = np.ix_(kept, kept)
    blinds = [(blind, np.broadcast_to(blind.cells, truth.values.shape)[:, sides][cut]) for blind in answered.blinds]
    return Signal(
        true[cut],
        tuple(answer[:, sides][cut] for answer in answered.answers),
        answered.unknown[:, sides][cut],
        tuple(cells for blind, cells in blinds if blind.by_row),
        tuple(cells for blind, cells in blinds if not blind.by_row),
        margin_of(truth)[sides][kept],
        both_sides=True,
    )


def _sides(answered: Answered) -> IntArray:
    """The column of each row's own product."""
    truth = answered.truth
    if answered.guess.secret.kind is SecretKind.COLUMN_PRODUCTS:
        return np.arange(len(truth.values))
    place = {name: index for index, name in enumerate(truth.columns)}
    named = [place.get(f"row {row}", -1) for row in truth.ids.tolist()]
    return np.array(named) if -1 not in named else np.arange(min(truth.values.shape))


def correlations(cells: FloatArray, true: FloatArray, counted: BoolArray) -> FloatArray:
    """Of each column, over the cells that count and were guessed; 0 where there is none. Of one table, or of many."""
    first, second = standardised(cells, true, counted)
    return np.asarray((first * second).sum(axis=-2))


def standardised(cells: FloatArray, true: FloatArray, counted: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Both with mean 0 and length 1 over the cells that count and were guessed, 0 elsewhere."""
    guessed = np.isfinite(cells)
    told = counted if guessed.all() else counted & guessed  # of many whole tables the truth is the same
    return _unit(cells, told), _unit(true, told)


def _unit(cells: FloatArray, told: BoolArray) -> FloatArray:
    kept = np.where(told, cells, 0.0)
    largest = np.abs(kept).max(axis=-2, keepdims=True, initial=0.0)
    kept /= np.where(largest > 0, largest, 1.0)  # squares of huge guesses overflow
    kept -= kept.sum(axis=-2, keepdims=True) / np.maximum(told.sum(axis=-2, keepdims=True), 1)
    kept *= told
    length = np.sqrt((kept**2).sum(axis=-2, keepdims=True))
    return np.asarray(kept / np.where(length > 1e-12, length, np.inf))


def hits(cells: FloatArray, true: FloatArray, margin: FloatArray, counted: BoolArray) -> BoolArray:
    found: BoolArray = counted & (np.abs(cells - true) <= margin + 1e-12 * np.abs(true))
    return found


def shares(found: BoolArray | FloatArray, counted: BoolArray) -> FloatArray:
    """Of the cells that count in each column. Of one table, or of many."""
    return np.asarray(np.where(counted, found, 0.0).sum(axis=-2) / np.maximum(counted.sum(axis=0), 1))


def mean_of(tables: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.mean(tables, axis=0))
