"""Share of unknown cells recovered to within 1 % of the column's range: the figure all feature attacks share."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.score import Better
from fedleak.core.secret import SecretKind
from fedleak.core.truth import SecretValues
from fedleak.metrics.metric import Metric

TOLERANCE = 0.01  # of the column's range
REAL_VALUED = frozenset(
    {
        SecretKind.FEATURES,
        SecretKind.RESIDUALS,
        SecretKind.PARTIAL_SCORES,
        SecretKind.GRAM,
        SecretKind.WEIGHTS,
        SecretKind.COLUMN_PRODUCTS,
        SecretKind.RECORDS,
    }
)


class CellsRecovered(Metric):
    """The baseline names one value a column, the best one there is: stronger than what an attacker knows."""

    name = "cells-recovered"
    summary = "share of cells within 1 % of the column's range; baseline: the best constant a column"
    better = Better.HIGHER
    applies_to = REAL_VALUED

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        # A NaN is never within: a cell that the attack does not guess is not recovered.
        within = np.abs(cells - truth.values) <= _margin(truth) + 1e-12 * np.abs(truth.values)
        return within.astype(np.float64)

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        """Over the columns, the most cells that one constant puts within the margin (a sliding window)."""
        hit = 0
        for column, margin in enumerate(_margin(truth)):
            ordered = np.sort(truth.values[unknown[:, column], column])
            ends = np.searchsorted(ordered, ordered + 2 * margin, side="right")
            hit += int((ends - np.arange(len(ordered))).max(initial=0))
        return hit / int(unknown.sum())


def _margin(truth: SecretValues) -> FloatArray:
    return TOLERANCE * (truth.ranges[:, 1] - truth.ranges[:, 0])
