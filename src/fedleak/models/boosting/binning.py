"""Columns in quantile bins, and the ways to split rows that they offer.

A value at most a threshold goes left. Thresholds are values of the column, as in FATE and XGBoost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.errors import InputError

MISSING = -1  # the bin of a cell that is NaN


def quantile_thresholds(column: FloatArray, n_bins: int, min_rows: int = 1) -> FloatArray:
    """At most ``n_bins - 1`` values of the column, ascending, with ``min_rows`` present cells or more between them.

    Where cells are missing, the largest value is one more: it splits the present cells from the missing ones.
    """
    present = np.sort(column[~np.isnan(column)])
    if not len(present):
        return np.zeros(0)
    ranks = np.ceil(np.arange(1, n_bins) * len(present) / n_bins).astype(np.int64) - 1
    found = np.unique(present[np.maximum(ranks, 0)])
    kept = _apart(found[found < present[-1]], present, min_rows)
    return np.append(kept, present[-1]) if len(present) < len(column) else kept


def _apart(thresholds: FloatArray, present: FloatArray, min_rows: int) -> FloatArray:
    """Those of the thresholds that leave every bin its rows."""
    kept, below = [], 0
    for threshold, reached in zip(thresholds, np.searchsorted(present, thresholds, side="right"), strict=True):
        if reached - below >= min_rows and len(present) - reached >= min_rows:
            kept.append(float(threshold))
            below = int(reached)
    return np.array(kept, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Ways to split: a column, the position of a threshold in it, and whether missing cells go left."""

    column: IntArray
    cut: IntArray
    missing_left: BoolArray

    def __len__(self) -> int:
        return len(self.column)

    def chosen(self, order: IntArray) -> Candidates:
        return Candidates(self.column[order], self.cut[order], self.missing_left[order])


@dataclass(frozen=True, eq=False)
class BinnedColumns:
    """One owner's columns. ``bins`` has the number of thresholds below each cell, or ``MISSING``."""

    thresholds: tuple[FloatArray, ...]
    bins: IntArray  # (rows, columns)

    @classmethod
    def of(cls, features: FloatArray, thresholds: Sequence[FloatArray]) -> BinnedColumns:
        if features.ndim != 2 or features.shape[1] != len(thresholds):
            raise InputError(f"features must have a column for each of {len(thresholds)}; got {features.shape}")
        return cls(tuple(thresholds), binned(features, thresholds))

    def candidates(self) -> Candidates:
        """All of them, column by column, thresholds ascending; of columns with missing cells also those that take the
        missing ones along to the left."""
        column, cut, missing_left = [], [], []
        for number, thresholds in enumerate(self.thresholds):
            n = len(thresholds)
            with_missing = max(n - 1, 0) if (self.bins[:, number] == MISSING).any() else 0
            column += [number] * (n + with_missing)
            cut += [*range(n), *range(with_missing)]
            missing_left += [False] * n + [True] * with_missing
        return Candidates(
            np.array(column, dtype=np.int64), np.array(cut, dtype=np.int64), np.array(missing_left, dtype=bool)
        )

    @property
    def n_groups(self) -> int:
        """Bins of any column, and one more for missing cells: the last."""
        return max((len(thresholds) for thresholds in self.thresholds), default=0) + 2

    def groups(self, rows: IntArray) -> IntArray:
        """(columns, rows): the bin of each cell, missing cells in the last group."""
        found = self.bins[rows].T
        return np.where(found == MISSING, self.n_groups - 1, found)

    def goes_left(self, rows: IntArray, column: int, cut: int, missing_left: bool) -> BoolArray:
        found = self.bins[rows, column]
        return np.asarray(np.where(found == MISSING, missing_left, found <= cut), dtype=bool)


def binned(features: FloatArray, thresholds: Sequence[FloatArray]) -> IntArray:
    found = np.empty(features.shape, dtype=np.int64)
    for number, edges in enumerate(thresholds):
        column = features[:, number]
        found[:, number] = np.where(np.isnan(column), MISSING, np.searchsorted(edges, column, side="left"))
    return found
