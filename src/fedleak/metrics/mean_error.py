"""Mean absolute error as a share of the column's range."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.score import Better
from fedleak.core.secret import SecretKind
from fedleak.core.truth import SecretValues
from fedleak.metrics.cells_recovered import REAL_VALUED, real_valued
from fedleak.metrics.metric import CellMetric


class MeanError(CellMetric):
    """A cell without a guess is given the column's median, the constant of least mean error."""

    name = "mean-error"
    summary = "mean absolute error over the column's range; baseline: the column's median"
    better = Better.LOWER
    applies_to = REAL_VALUED

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        return real_valued(kind, truth)

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        filled = np.where(np.isnan(cells), np.median(truth.values, axis=0), cells)
        return np.asarray(np.abs(filled - truth.values) / _spread(truth))

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        nothing = np.full(truth.values.shape, np.nan)
        return float(self.cell_scores(nothing, truth, unknown)[unknown].mean())


def _spread(truth: SecretValues) -> FloatArray:
    spread = truth.ranges[:, 1] - truth.ranges[:, 0]
    return np.where(spread > 0, spread, 1.0)
