"""Answers with the same values whose rows follow the adversary's own columns by another rule.

Columns of one table go together: what follows the own columns by any rule at all may follow the truth, for better or
worse, and rows in another order do not show how often. So the part of an answer that own columns explain is turned
within what they span, as if its rule had been drawn anew, and the rest of it gets another order of rows.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.metrics.blind_fits import standardised_columns

MAX_DIRECTIONS = 60  # of what own columns span; of pictures, those that most goes along
NEGLIGIBLE = 1e-9
FEW_ROWS = 200
COARSE = 1e-6  # of a column's range: a flag that was solved for is one but for the last digits


def spanned(beside: FloatArray) -> FloatArray | None:
    """(units, directions): an orthonormal basis of the own columns, each centred; None where there are none."""
    own = standardised_columns(beside[:, np.isfinite(beside).all(axis=0)])
    if not own.size:
        return None
    left, sizes, _ = np.linalg.svd(own, full_matrices=False)
    kept = sizes[:MAX_DIRECTIONS] > NEGLIGIBLE * max(float(sizes[0]), 1.0)
    return np.asarray(left[:, : len(kept)][:, kept]) if kept.any() else None


def unexplained(cells: FloatArray, own: FloatArray) -> FloatArray:
    """What own columns leave of cells, NaN where those are. Of one table, or of many."""
    told = np.isfinite(cells)
    centred = _centred(cells, told)[1]
    return np.where(told, centred - own @ (own.T @ centred), np.nan)


def _centred(cells: FloatArray, told: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The mean of each column, and what cells are beyond it; 0 where none is told."""
    counts = np.maximum(told.sum(axis=-2, keepdims=True), 1)
    means = np.where(told, cells, 0.0).sum(axis=-2, keepdims=True) / counts
    return means, np.where(told, cells - means, 0.0)


class OtherRules:
    """Draws for one answer; cells that it leaves open stay so."""

    def __init__(self, answer: FloatArray, own: FloatArray) -> None:
        self._own, self._told = own, np.isfinite(answer)
        self._means, centred = _centred(answer, self._told)
        self._slopes = own.T @ centred
        self._rest = centred - own @ self._slopes
        self._few = [column for column in range(answer.shape[1]) if _recur(answer[self._told[:, column], column])]
        self._ordered = {column: np.sort(answer[self._told[:, column], column]) for column in self._few}

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """(count, units, columns)."""
        turned = turns(count, self._own.shape[1], rng) @ self._slopes
        drawn = self._means + self._own @ turned + self._rest[row_orders(count, len(self._rest), rng)]
        for column in self._few:  # the same values in other rows: a flag stays a flag
            told = self._told[:, column]
            drawn[:, told, column] = _in_order_of(drawn[:, told, column], self._ordered[column], rng)
        return np.where(self._told, drawn, np.nan)


def row_orders(count: int, n_units: int, rng: np.random.Generator) -> IntArray:
    """(count, units): so many orders, each as likely as any other."""
    return rng.permuted(np.tile(np.arange(n_units), (count, 1)), axis=1)


def _recur(values: FloatArray) -> bool:
    """Whether values matter one by one: of few rows always; of many where they are flags or codes, to some digits."""
    if len(values) <= FEW_ROWS:
        return True
    rounded = np.rint((values - values.min()) / (max(float(np.ptp(values)), 1e-300) * COARSE))
    return len(np.unique(rounded)) <= len(values) / 2


def _in_order_of(values: FloatArray, ordered: FloatArray, rng: np.random.Generator) -> FloatArray:
    """In each row of ``values``; equal ones in any order, as they are sorted from any order."""
    mixed = row_orders(len(values), values.shape[1], rng)
    places = np.take_along_axis(mixed, np.argsort(np.take_along_axis(values, mixed, axis=1), axis=1), axis=1)
    found = np.empty(values.shape)
    np.put_along_axis(found, places, ordered[None], axis=1)
    return found


def turns(count: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Any rotation or reflection is as likely as any other (Mezzadri 2007)."""
    basis, upper = np.linalg.qr(rng.standard_normal((count, size, size)))
    return np.asarray(basis * np.sign(np.diagonal(upper, axis1=-2, axis2=-1))[:, None, :])
