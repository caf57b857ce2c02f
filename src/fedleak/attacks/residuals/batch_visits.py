"""A batch that recurs tells the directions in which its scores can move, and they leave room for few labelings.

Of the same rows at several visits, value(t) = slope X w(t) - half y: differences of visits lie in the column space of
X, and so does value(0) + half y. A labeling fits where it makes that so to the precision of the values. With more rows
than directions labels that mean nothing do not fit; whether another labeling does is enumerated: the labels of as many
rows as there are directions fix all the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray

ABOVE_NOISE = 4.0  # a direction counts where it is so many times larger than rounding makes one
DEVIATIONS = 6.0  # of rounding, that a residual may be off
RIVALS_TIMES = 10.0  # of what rounding explains: a labeling that misses by less is not excluded
NEAR = 0.3  # of a label's step: whatever is nearer to a label might be it
MOST_DIRECTIONS = 16  # two to this power labelings are enumerated
MOST_RIVALS = 1 << 12
MOST_PASSES = 50
CHANCE = 1e-9  # that labels which mean nothing fit as well
LEAST_MISFIT = 1e-12
AT_ONCE, ROWS_AT_ONCE = 1 << 14, 8


def series_of(rounds: Sequence[tuple[IntArray, FloatArray]], n_rows: int) -> FloatArray:
    """(rows, visits): the first visits of every row, as many as all of them have. Rows are positions."""
    rows = np.concatenate([rows for rows, _ in rounds])
    values = np.concatenate([values for _, values in rounds])
    counts = np.bincount(rows, minlength=n_rows)
    begins = np.cumsum(counts) - counts
    return np.asarray(values[np.argsort(rows, kind="stable")][begins[:, None] + np.arange(counts.min())])


def recurring(rounds: Sequence[tuple[IntArray, FloatArray]]) -> list[tuple[IntArray, FloatArray]]:
    """Batches of the same rows, whatever their order, with the values of all visits side by side."""
    found: dict[bytes, list[FloatArray]] = {}
    for rows, values in rounds:
        order = np.argsort(rows)
        found.setdefault(rows[order].astype(np.int64).tobytes(), []).append(values[order])
    return [(np.frombuffer(key, dtype=np.int64), np.stack(values, axis=1)) for key, values in found.items()]


@dataclass(frozen=True, eq=False)
class Labeled:
    """``proved`` where every labeling that fits has the same label."""

    signs: FloatArray
    fits: bool
    proved: BoolArray


@dataclass(frozen=True, eq=False)
class Visits:
    """One batch. ``noise`` is the deviation of a value's rounding, 2 ``half`` the step from label to label."""

    values: FloatArray  # (rows, visits)
    half: float
    noise: float

    @cached_property
    def _svd(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        moved = self.values[:, 1:] - self.values[:, :1]
        left, singular, right = np.linalg.svd(moved, full_matrices=False)
        # Of pure noise the largest singular value is its deviation times (sqrt(rows) + sqrt(columns)).
        kept = singular > ABOVE_NOISE * np.sqrt(2) * self.noise * (np.sqrt(len(moved)) + np.sqrt(moved.shape[1]))
        return left[:, kept], singular[kept], right[kept]

    @property
    def basis(self) -> FloatArray:
        """(rows, directions), orthonormal: where values were seen to move."""
        return self._svd[0]

    def labeled(self, signs: FloatArray) -> Labeled:
        """Labels as they fit best from these signs on, and which of them are proved."""
        signs = self._settled(signs)
        misfit, allowed = self._misfits(signs[None])
        n_directions, nowhere = self.basis.shape[1], np.zeros(len(signs), dtype=bool)
        fits = bool(misfit[0] <= allowed[0]) and self._is_no_chance(float(misfit[0]))
        if not fits or n_directions > MOST_DIRECTIONS:
            return Labeled(signs, fits, nowhere)
        reach, others = self._rivals(signs)
        if others is None or self._most_allowed(signs) > reach:
            return Labeled(signs, fits, nowhere)
        return Labeled(signs, fits, ~np.any(others != signs, axis=0))

    def _settled(self, signs: FloatArray) -> FloatArray:
        """Least squares and signs in turn, until signs stay."""
        first = self.values[:, 0]
        for _ in range(MOST_PASSES):
            inside = self.basis @ (self.basis.T @ (first + self.half * signs))
            again = np.where(first < inside, 1.0, -1.0)
            if np.array_equal(again, signs):
                break
            signs = again
        return signs

    def _misfits(self, labelings: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Largest of each labeling's rows, and what rounding explains of it, both in steps of a label: what was added
        up of the differences is off by as much as they are."""
        basis, singular, _ = self._svd
        target = self.values[:, 0] + self.half * labelings
        inside = target @ basis
        missed = np.abs(target - inside @ basis.T).max(axis=1)
        rounding = DEVIATIONS * self.noise * np.sqrt(1 + 2 * np.sum((inside / singular) ** 2, axis=1))
        return missed / (2 * self.half), rounding / (2 * self.half)

    def _most_allowed(self, signs: FloatArray) -> float:
        """What rounding could explain of any labeling at all."""
        largest = np.linalg.norm(self.values[:, 0]) + self.half * np.sqrt(len(signs))
        weakest = self._svd[1].min(initial=np.inf)
        return float(DEVIATIONS * self.noise * np.sqrt(1 + 2 * (largest / weakest) ** 2) / (2 * self.half))

    def _is_no_chance(self, misfit: float) -> bool:
        """2^directions labelings times the share of numbers so near to a label, for each row beyond the directions."""
        n_rows, n_directions = self.basis.shape
        share = min(4 * max(misfit, LEAST_MISFIT), 1.0)
        return bool(n_directions * np.log(2) + (n_rows - n_directions) * np.log(share) < np.log(CHANCE))

    def _rivals(self, signs: FloatArray) -> tuple[float, FloatArray | None]:
        """How far another labeling may miss and still be seen, and those that fit; None where they are too many. With
        b = 1 where it differs, signs * b lies in the span: b of well chosen rows gives that of all others."""
        from scipy.linalg import qr

        basis, n_directions = self.basis, self.basis.shape[1]
        if not n_directions:
            return NEAR, np.zeros((0, len(signs)))
        chosen = qr(basis.T, mode="r", pivoting=True)[1][:n_directions]
        others = signs[:, None] * np.linalg.solve(basis[chosen].T, basis.T).T * signs[chosen]
        found = np.vstack([_differing(others, begin) for begin in range(1, 1 << n_directions, AT_ONCE)])
        if len(found) > MOST_RIVALS:
            return NEAR, None
        labelings = signs * (1 - 2 * found)
        missed, allowed = self._misfits(labelings)
        reach = NEAR / (1 + float(np.abs(others).sum(axis=1).max()))
        return reach, labelings[missed <= RIVALS_TIMES * allowed]


def _differing(others: FloatArray, begin: int) -> FloatArray:
    """Of a block of choices those for which every row is near 0 or 1; and then 0 or 1 each."""
    n_chosen = others.shape[1]
    codes = np.arange(begin, min(begin + AT_ONCE, 1 << n_chosen))
    left = ((codes[:, None] >> np.arange(n_chosen)) & 1).astype(np.float64)
    for block in np.array_split(others, max(1, len(others) // ROWS_AT_ONCE)):
        found = left @ block.T
        left = left[np.all(np.abs(found - (found > 0.5)) <= NEAR, axis=1)]
    return np.asarray(left @ others.T > 0.5, dtype=np.float64)
