"""Which columns of a table are binary, told from inner products alone; and what they say of the other columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.binary.moments import binary_flaw
from fedleak.core.arrays import FloatArray, IntArray


def binary_columns(alpha: FloatArray, n_rows: int, tolerance: float) -> IntArray:
    """Positions of a set of columns whose inner products could all be those of binary columns.

    A binary column's entries with the others of its kind are counts. Columns are dropped one by one, the one with the
    most entries that are no counts first, until none is left.
    """
    whole = np.abs(alpha - np.rint(alpha)) <= tolerance
    counts = np.rint(alpha)
    ones = counts.diagonal()
    possible = whole & (counts >= 0) & (counts <= np.minimum.outer(ones, ones))
    possible &= np.add.outer(ones, ones) - counts <= n_rows
    chosen = np.flatnonzero(possible.diagonal())
    while len(chosen):
        part = possible[np.ix_(chosen, chosen)]
        wrong = (~part).sum(axis=0)
        if not wrong.any():
            break
        # Of two columns that do not fit together, the one with the longer entry is the likelier number column.
        worst = np.lexsort((-alpha[chosen, chosen], -wrong))[0]
        chosen = np.delete(chosen, worst)
    return chosen if len(chosen) and not binary_flaw(_counts(alpha, chosen), n_rows) else chosen[:0]


def _counts(alpha: FloatArray, chosen: IntArray) -> IntArray:
    return np.rint(alpha[np.ix_(chosen, chosen)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Cells of the remaining columns: the middle and the half-width of what is possible (0: determined)."""

    middle: FloatArray  # (rows, columns)
    radius: FloatArray

    @property
    def determined(self) -> bool:
        return bool((self.radius <= 1e-3 * np.maximum(1.0, np.abs(self.middle).max(initial=1.0))).all())


def bounds_from_binary(rows: IntArray, products: FloatArray, squares: FloatArray) -> Bounds:
    """Of columns z with known rowsᵀ z (``products``, a column each) and known |z|² (``squares``).

    z is the least-norm solution plus anything in the null space of the rows' columns whose norm fits |z|²: cell k may
    differ by the null space's share of unit vector k times that norm.
    """
    known = rows.astype(np.float64)
    inverse = np.linalg.pinv(known.T, rcond=1e-9)
    middle = inverse @ products
    open_part = np.eye(len(known)) - inverse @ known.T
    slack = np.maximum(squares - (middle**2).sum(axis=0), 0.0)
    freedom = np.sqrt(np.clip(open_part.diagonal(), 0.0, 1.0))
    freedom = np.where(freedom < 1e-6, 0.0, freedom)
    return Bounds(middle, np.outer(freedom, np.sqrt(slack)))
