"""Mean squared error per feature (Luo et al. 2021, eq. 10), in units of the column's range."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.score import Better
from fedleak.core.secret import SecretKind
from fedleak.core.truth import SecretValues
from fedleak.metrics.metric import CellMetric


class SquaredError(CellMetric):
    """A cell without a guess is given the column's mean. The baseline, the true mean of each column, is stronger than
    what an attacker knows: it is the best constant there is."""

    name = "mse-per-feature"
    summary = "mean squared error over the column's range squared; baseline: the column's mean"
    better = Better.LOWER
    applies_to = frozenset({SecretKind.FEATURES, SecretKind.RANGES})

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        return squared_errors(cells, truth)

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        nothing = np.full(truth.values.shape, np.nan)
        return float(squared_errors(nothing, truth)[unknown].mean())


def squared_errors(cells: FloatArray, truth: SecretValues) -> FloatArray:
    """(rows, columns), as shares of the range squared; the column's mean where there is no guess."""
    filled = np.where(np.isnan(cells), truth.values.mean(axis=0), cells)
    spread = truth.ranges[:, 1] - truth.ranges[:, 0]
    return np.asarray(((filled - truth.values) / np.where(spread > 0, spread, 1.0)) ** 2)
