"""Labels of recovered rows from β = XᵀY, Y = ±1."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray

SURE_WITHIN = 0.6  # of possible values that are 2 apart


def sure_parity(beta: FloatArray, ones: IntArray) -> FloatArray:
    """β rounded, NaN where it lies too far between two possible values."""
    rounded = with_parity(beta, ones)
    return np.where(np.abs(beta - rounded) < SURE_WITHIN, rounded, np.nan)


def with_parity(beta: FloatArray, ones: IntArray) -> IntArray:
    """Round β: a sum of α_ii signs has the parity of α_ii, so possible values are 2 apart."""
    rounded: IntArray = (2 * np.rint((beta - ones) / 2)).astype(np.int64) + ones
    return rounded


def labels_of_rows(rows: IntArray, beta: FloatArray) -> FloatArray:
    """0/1 labels, NaN where the rows, or entries of β that are NaN, leave them open. Equal rows share their labels in
    any order."""
    rows, beta = rows[:, np.isfinite(beta)], beta[np.isfinite(beta)]
    distinct, group, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    system = distinct.T.astype(np.float64)
    sums = np.linalg.lstsq(system, beta, rcond=None)[0]  # of the signs of each kind of row
    fixed = _determined(system)
    positives = np.rint((sums + sizes) / 2)
    labels = np.full(len(rows), np.nan)
    if fixed.all() and not np.array_equal(system @ (2 * positives - sizes), beta):
        return labels  # no labels fit: β is not that of these rows
    for kind in np.flatnonzero(fixed & (positives >= 0) & (positives <= sizes)):
        members = np.flatnonzero(group.ravel() == kind)
        labels[members] = 0.0
        labels[members[: int(positives[kind])]] = 1.0
    return labels


def _determined(system: FloatArray) -> BoolArray:
    """Which unknowns have one value in all solutions: those that the null space does not touch."""
    _, singular, right = np.linalg.svd(system, full_matrices=True)
    rank = int((singular > 1e-9 * singular[0]).sum()) if len(singular) else 0
    free: FloatArray = np.abs(right[rank:]).max(axis=0, initial=0.0)
    return np.asarray(free < 1e-7, dtype=np.bool_)
