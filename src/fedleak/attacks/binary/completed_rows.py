"""Whole rows around binary columns: which columns are binary, what they say of the others, and the labels from β = XᵀY.

Everything is told from inner products alone (Y = ±1). Where several tables remain, rows have no names, and what is
certain are the cells on which the tables agree after their rows are matched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.binary.binary_table import binary_flaw
from fedleak.core.arrays import BoolArray, FloatArray, IntArray


def binary_columns(alpha: FloatArray, n_rows: int, tolerance: float, among: BoolArray | None = None) -> IntArray:
    """Positions of a set of columns whose inner products could all be those of binary columns.

    A binary column's entries with the others of its kind are counts. Columns are dropped one by one, the one with the
    most entries that are no counts first, until none is left. ``among``: those that may be binary by what else is
    known.
    """
    whole = np.abs(alpha - np.rint(alpha)) <= tolerance
    if among is not None:
        whole &= np.logical_and.outer(among, among)
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
        """Every cell to within a thousandth of its column's typical size."""
        size = np.sqrt(np.mean(self.middle**2, axis=0))
        return bool((self.radius <= DETERMINED * size).all())


DETERMINED = 1e-3
WITHIN = 4.0  # standard errors of a product that a bound allows for


def bounds_from_binary(
    rows: IntArray | FloatArray, products: FloatArray, squares: FloatArray, error: float = 0.0
) -> Bounds:
    """Of columns z with known rowsᵀ z (``products``, a column each) and known |z|² (``squares``).

    z is the least-norm solution plus anything in the null space of the rows' columns whose norm fits |z|²: cell k may
    differ by the null space's share of unit vector k times that norm. ``error`` is the products' standard error, which
    the solve makes larger.
    """
    known = rows.astype(np.float64)
    inverse = np.linalg.pinv(known.T, rcond=1e-9)
    middle = inverse @ products
    open_part = np.eye(len(known)) - inverse @ known.T
    slack = np.maximum(squares - (middle**2).sum(axis=0), 0.0)
    freedom = np.sqrt(np.clip(open_part.diagonal(), 0.0, 1.0))
    freedom = np.where(freedom < 1e-6, 0.0, freedom)
    blur = WITHIN * error * np.linalg.norm(inverse, axis=1)
    return Bounds(middle, np.outer(freedom, np.sqrt(slack)) + blur[:, None])


SURE_WITHIN = 0.6  # of possible values that are 2 apart


def sure_parity(beta: FloatArray, ones: IntArray) -> FloatArray:
    """β rounded, NaN where it lies too far between two possible values."""
    rounded = with_parity(beta, ones)
    return np.where(np.abs(beta - rounded) < SURE_WITHIN, rounded, np.nan)


def has_parity(beta: FloatArray, alpha: FloatArray, tolerance: float) -> BoolArray:
    """Which columns' sums over labels of ±1 are as only a column of so many ones has them."""
    ones = np.rint(alpha.diagonal()).astype(np.int64)
    return np.asarray(np.abs(beta - with_parity(beta, ones)) <= tolerance)


def with_parity(beta: FloatArray, ones: IntArray) -> IntArray:
    """Round β: a sum of α_ii signs has the parity of α_ii, so possible values are 2 apart."""
    rounded: IntArray = (2 * np.rint((np.nan_to_num(beta) - ones) / 2)).astype(np.int64) + ones
    return rounded


def labels_of_rows(rows: IntArray | FloatArray, beta: FloatArray, slack: float = 0.0) -> FloatArray:
    """0/1 labels, NaN where the rows, or entries of β that are NaN, leave them open. Equal rows share their labels in
    any order. ``slack`` is what β may be off by."""
    rows, beta = rows[:, np.isfinite(beta)], beta[np.isfinite(beta)]
    distinct, group, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    system = distinct.T.astype(np.float64)
    sums = np.linalg.lstsq(system, beta, rcond=None)[0]  # of the signs of each kind of row
    fixed = determined_unknowns(system)
    positives = np.rint((sums + sizes) / 2)
    labels = np.full(len(rows), np.nan)
    if fixed.all() and not (np.abs(system @ (2 * positives - sizes) - beta) <= slack).all():
        return labels  # no labels fit: β is not that of these rows
    for kind in np.flatnonzero(fixed & (positives >= 0) & (positives <= sizes)):
        members = np.flatnonzero(group.ravel() == kind)
        labels[members] = 0.0
        labels[members[: int(positives[kind])]] = 1.0
    return labels


def determined_unknowns(system: FloatArray) -> BoolArray:
    """Which unknowns have one value in all solutions: those that the null space does not touch."""
    _, singular, right = np.linalg.svd(system, full_matrices=True)
    rank = int((singular > 1e-9 * singular[0]).sum()) if len(singular) else 0
    free: FloatArray = np.abs(right[rank:]).max(axis=0, initial=0.0)
    return np.asarray(free < 1e-7, dtype=np.bool_)


def certain_cells(tables: Sequence[FloatArray]) -> BoolArray:
    """Cells of the first table that every other table has too, after its rows are matched to the first one's.

    A single table of unknown completeness makes nothing certain.
    """
    from scipy.optimize import linear_sum_assignment

    first = tables[0]
    certain = np.full(first.shape, len(tables) > 1)
    for other in tables[1:]:
        distance = np.nansum((first[:, None, :] - other[None, :, :]) ** 2, axis=2)
        _, chosen = linear_sum_assignment(distance)
        certain &= first == other[chosen]
    return certain
