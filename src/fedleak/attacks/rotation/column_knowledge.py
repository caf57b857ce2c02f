"""What an attacker knows of each of the victim's columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownColumn

MOST_VALUES = 40  # a whole-number column with a wider range is treated as bounded only


@dataclass(frozen=True, eq=False)
class ColumnKnowledge:
    """``values``: all that the column can take. ``sample``: values of similar people, sorted."""

    values: FloatArray | None = None
    low: float | None = None
    high: float | None = None
    sample: FloatArray | None = None

    @property
    def what(self) -> str:
        if self.values is not None:
            return f"{len(self.values)} possible values"
        if self.sample is not None:
            return "a known marginal"
        return "a range" if self.low is not None or self.high is not None else "nothing"

    def nearest(self, column: FloatArray) -> FloatArray:
        """The column closest to this one that agrees with what is known."""
        if self.values is not None and self.sample is None:
            places = np.clip(np.searchsorted(self.values, column), 1, len(self.values) - 1)
            below, above = self.values[places - 1], self.values[places]
            return np.where(column - below <= above - column, below, above)
        if self.sample is not None:
            return self._matched(column)
        return np.clip(column, -np.inf if self.low is None else self.low, np.inf if self.high is None else self.high)

    def _matched(self, column: FloatArray) -> FloatArray:
        """The sample's quantiles in the column's order: the least movement to the known marginal."""
        assert self.sample is not None
        ranks = np.empty(len(column))
        ranks[np.argsort(column, kind="stable")] = (np.arange(len(column)) + 0.5) / len(column)
        grid = (np.arange(len(self.sample)) + 0.5) / len(self.sample)
        return np.interp(ranks, grid, self.sample)


def column_knowledge(knowledge: Knowledge, owner: str, width: int) -> tuple[list[ColumnKnowledge], FloatArray | None]:
    """Per column what is declared, and the public sample's rows where there is one."""
    known = [column for column in knowledge.columns if column.owner == owner]
    rows = next((np.asarray(s.rows.values, dtype=np.float64) for s in knowledge.samples if s.owner == owner), None)
    if rows is not None and rows.shape[1] != width:
        rows = None
    return [_of_column(index, known, rows) for index in range(width)], rows


def _of_column(index: int, known: Sequence[KnownColumn], rows: FloatArray | None) -> ColumnKnowledge:
    declared = known[index] if index < len(known) else None
    sample = None if rows is None else np.sort(rows[:, index])
    low = None if declared is None else declared.low
    high = None if declared is None else declared.high
    values = _values(declared)
    return ColumnKnowledge(_values_of(sample) if values is None else values, low, high, sample)


def _values_of(sample: FloatArray | None) -> FloatArray | None:
    """A sample of whole numbers shows a code: the victim's values are taken to lie in the same range.

    Where they do not, no column fits them exactly, and the sample is used as a marginal.
    """
    if sample is None or not len(sample) or not np.equal(sample, np.round(sample)).all():
        return None
    low, high = float(sample[0]), float(sample[-1])
    return np.arange(low, high + 1) if 0 < high - low < MOST_VALUES else None


def _values(declared: KnownColumn | None) -> FloatArray | None:
    if declared is None or declared.kind is None:
        return None
    low, high = declared.low, declared.high
    if declared.kind is ColumnKind.BINARY:
        ends = (0.0, 1.0) if low is None or high is None or low == high else (low, high)
        return np.array(ends)
    if declared.kind is ColumnKind.INTEGER and low is not None and high is not None and 0 < high - low < MOST_VALUES:
        return np.arange(np.ceil(low), np.floor(high) + 1)
    return None
