"""Inner products that noise keeps from being rounded entry by entry, decoded to those of a table near them.

A table of m rows has inner products of rank m, with the column of ones (x·1 = x·x) of no more than m. With more columns
than that the noise is in more dimensions than the table: projections onto matrices of rank m and onto whole numbers in
turn take most of it away. What comes out is a table's for certain, and near; that it is the victim's is likely and not
proved.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.binary.binary_table import binary_flaw
from fedleak.core.arrays import FloatArray, IntArray

MOST_TURNS = 30
SPARE = 2  # columns beyond the rows: with fewer nothing tells noise from the table
FARTHEST = 6.0  # standard errors that an entry may move


def nearest_products(alpha: FloatArray, n_rows: int, error: float) -> IntArray | None:
    """Whole-number products of rank ``n_rows`` within the error; None where the turns do not end in any."""
    if len(alpha) < n_rows + SPARE:
        return None
    estimate = alpha
    for _ in range(MOST_TURNS):
        counts = np.rint(estimate).astype(np.int64)
        if float(np.abs(counts - alpha).max()) > FARTHEST * error + 0.5:
            return None
        if not binary_flaw(counts, n_rows) and np.linalg.matrix_rank(_with_ones(counts, n_rows)) <= n_rows:
            return counts
        lower = _of_rank(_with_ones(estimate, n_rows), n_rows)
        if np.array_equal(np.rint(lower), counts):
            lower = _of_rank(_with_ones((lower + counts) / 2, n_rows), n_rows)
        estimate = lower
    return None


def _with_ones(alpha: IntArray | FloatArray, n_rows: int) -> FloatArray:
    """As floats: estimates are none of a table yet."""
    ones = alpha.diagonal()
    return np.block([[alpha.astype(np.float64), ones[:, None]], [ones[None, :], np.array([[float(n_rows)]])]])


def _of_rank(extended: FloatArray, rank: int) -> FloatArray:
    """The nearest matrix of that rank, without the column of ones; what that says of the diagonal is averaged in."""
    values, vectors = np.linalg.eigh((extended + extended.T) / 2)
    kept = np.maximum(values[-rank:], 0.0)
    near = (vectors[:, -rank:] * kept) @ vectors[:, -rank:].T
    found = near[:-1, :-1].copy()
    np.fill_diagonal(found, (near.diagonal()[:-1] + 2 * near[-1, :-1]) / 3)
    return np.asarray(found)
