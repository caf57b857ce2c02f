"""Labels as the two branches of a regression: value = known columns times coefficients + rest - half * label.

Labels are -1 or +1, ``half`` is public, the rest is normal with a spread that grows with the size of a row. Columns
come in groups, each with coefficients of one spread of its own, so that a group that says nothing fades out. By
expectation and maximisation, as any mixture of two regressions; of several beginnings that of most evidence counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray

MOST_PASSES, LEAST_PASSES = 200, 10
SETTLED = 1e-9
EVEN_SHARE = 0.5  # of the rest's variance: this part is every row's, the other follows the row's size
LEAST_SPREAD = 1e-5  # of the rest, as a share of half: below it nothing is gained but overflows
LEAST_VARIANCE = 1e-12  # of a group's coefficients
LARGEST_ODDS = 200.0


@dataclass(frozen=True, eq=False)
class Branches:
    """Log odds of +1 a row, and how well the whole fits."""

    odds: FloatArray
    evidence: float


@dataclass(frozen=True, eq=False)
class Mixture:
    values: FloatArray  # (rows,)
    half: float
    groups: Sequence[FloatArray]  # (rows, columns) each
    odds: FloatArray  # of +1, from elsewhere
    sizes: FloatArray  # of rows: their mean square, 1 on average
    _columns: FloatArray = field(init=False)
    _group_of: IntArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_columns", np.hstack(list(self.groups)))
        widths = [group.shape[1] for group in self.groups]
        object.__setattr__(self, "_group_of", np.repeat(np.arange(len(widths)), widths))

    def best(self, beginnings: Iterable[FloatArray]) -> Branches:
        """Of the fits that begin with these log odds."""
        return max((self._fitted(odds) for odds in beginnings), key=lambda found: found.evidence)

    def _fitted(self, begin: FloatArray) -> Branches:
        weight = 1 / (EVEN_SHARE + (1 - EVEN_SHARE) * self.sizes)
        weighted = self._columns * weight[:, None]
        products = self._columns.T @ weighted
        variances = np.full(len(self.groups), self.half**2 * 4)
        label, spread = np.tanh(begin / 2), self.half**2
        for number in range(MOST_PASSES):
            around = np.asarray(np.linalg.inv(products / spread + np.diag(1 / variances[self._group_of])), np.float64)
            found = around @ (weighted.T @ (self.values + self.half * label)) / spread
            rest = self.values - self._columns @ found
            missed = (rest + self.half * label) ** 2 + self.half**2 * (1 - label**2)
            spread = float(weight @ missed + np.sum(around * products)) / len(rest)
            spread = max(spread, (LEAST_SPREAD * self.half) ** 2)
            variances = self._variances(found, around)
            odds = np.clip(self.odds - 2 * self.half * rest * weight / spread, -LARGEST_ODDS, LARGEST_ODDS)
            before, label = label, np.tanh(odds / 2)
            if number >= LEAST_PASSES and np.abs(label - before).max() < SETTLED:
                break
        return Branches(odds, self._evidence(label, spread, around, variances))

    def _variances(self, found: FloatArray, around: FloatArray) -> FloatArray:
        squares = found**2 + np.diag(around)
        counts = np.bincount(self._group_of, minlength=len(self.groups))
        sums = np.bincount(self._group_of, weights=squares, minlength=len(self.groups))
        return np.maximum(sums / np.maximum(counts, 1), LEAST_VARIANCE)

    def _evidence(self, label: FloatArray, spread: float, around: FloatArray, variances: FloatArray) -> float:
        """The variational bound, but for what all beginnings share."""
        shares = np.clip(np.stack([(1 + label) / 2, (1 - label) / 2]), 1e-300, 1.0)
        before = -np.logaddexp(0, np.stack([-self.odds, self.odds]))
        coefficients = np.linalg.slogdet(around)[1] - np.log(variances[self._group_of]).sum()
        return float(np.sum(shares * (before - np.log(shares))) + (coefficients - len(label) * np.log(spread)) / 2)
