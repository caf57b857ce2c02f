"""Known cells for an experiment: a staircase in random rows and columns, and further cells in a random order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.theory.li2021.known_data import staircase

WIDE = 20  # from so many columns on, random rows and minimal patterns are too ill-conditioned


@dataclass(frozen=True, eq=False)
class CellPlan:
    """``order`` lists cells by flat position: those of the staircase first, then all others."""

    n_base: int
    order: IntArray

    def knowledge(self, owner: str, values: FloatArray, n_extra: int) -> Knowledge:
        chosen = np.sort(self.order[: self.n_base + n_extra])
        rows, columns = np.unravel_index(chosen, values.shape)
        cells = KnownCells(owner, rows.astype(np.int64), columns.astype(np.int64), values[rows, columns])
        return Knowledge(cells=(cells,))


def plan_cells(
    values: FloatArray, rng: np.random.Generator, *, with_weights: bool = True, extra_a_row: int = 0
) -> CellPlan:
    """Corollary 1 leaves rows and columns free, so they are drawn; but the rows must be independent.

    In a wide table of nearly collinear rows a draw is not: the rows then come from a pivoted QR.
    """
    n_rows, n_features = values.shape
    chosen: list[int] = []
    rows = rng.permutation(n_rows)
    if n_features >= WIDE:
        rows = np.asarray(qr(values.T, mode="economic", pivoting=True)[2], dtype=np.int64)
    counts = staircase(n_features, with_weights=with_weights, extra=extra_a_row)
    for row, count in zip(rows, counts, strict=False):
        columns = rng.permutation(n_features)[:count]
        chosen.extend(int(row) * n_features + int(column) for column in columns)
    rest = rng.permutation(np.setdiff1d(np.arange(n_rows * n_features), chosen))
    return CellPlan(len(chosen), np.concatenate([np.array(chosen, dtype=np.int64), rest]).astype(np.int64))
