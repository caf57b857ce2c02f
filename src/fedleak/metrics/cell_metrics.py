"""How close each guessed cell is: within 1 % of the range or not, mean and squared error."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.finding import Better
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.metric import Answered, CellMetric, ShareMetric

TOLERANCE = 0.01  # of the column's range
CONSTANT_TOLERANCE = 1e-9  # of its value, for a column without a range; for a column of zeros, the tolerance itself
REAL_VALUED = frozenset(
    {
        SecretKind.LABELS,  # where they are numbers
        SecretKind.FEATURES,
        SecretKind.RANGES,  # the value that an attack names within the range
        SecretKind.RESIDUALS,
        SecretKind.PARTIAL_SCORES,
        SecretKind.GRAM,
        SecretKind.WEIGHTS,
        SecretKind.COLUMN_PRODUCTS,
        SecretKind.RECORDS,
        SecretKind.THRESHOLDS,
        SecretKind.BINS,
        SecretKind.IMAGES,
    }
)
MAX_CLASSES = 20


def real_valued(kind: SecretKind, truth: SecretValues) -> bool:
    """Whether an error has a size here: it has none between classes."""
    return kind is not SecretKind.LABELS or not are_classes(truth.values)


class CellsRecovered(ShareMetric):
    """``recovered_share`` counts the cells that were really recovered: what an answer leaves open is blind here.

    A column without a range counts too: who names its one value has its cells.
    """

    name = "cells-recovered"
    summary = "share of cells within 1 % of the column's range; baseline: the best blind answer"
    applies_to = REAL_VALUED

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        return real_valued(kind, truth)

    def cell_scores(self, cells: FloatArray, truth: SecretValues) -> FloatArray:
        return within_margin(cells, truth).astype(np.float64)


def recovered_share(answered: Answered) -> float:
    """Share of the unknown cells that the attack itself puts within the margin; what it leaves open does not count."""
    truth, unknown = answered.truth, answered.unknown
    return float(np.mean([within_margin(cells, truth)[unknown].mean() for cells in answered.answers]))


def within_margin(cells: FloatArray, truth: SecretValues) -> BoolArray:
    """True where a cell counts as recovered. A NaN is never within: who does not guess a cell has not recovered it."""
    found: BoolArray = np.abs(cells - truth.values) <= margin_of(truth) + 1e-12 * np.abs(truth.values)
    return found


def margin_of(truth: SecretValues) -> FloatArray:
    low, high = truth.lowest, truth.highest
    constant = CONSTANT_TOLERANCE * np.where(low == 0, 1.0, np.abs(low))
    return np.where(high > low, TOLERANCE * (high - low), constant)


class MeanError(CellMetric):
    name = "mean-error"
    summary = "mean absolute error over the column's range; baseline: the best blind answer"
    better = Better.LOWER
    applies_to = REAL_VALUED

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        return real_valued(kind, truth)

    def cell_scores(self, cells: FloatArray, truth: SecretValues) -> FloatArray:
        return np.asarray(np.abs(cells - truth.values) / _spread(truth))


def _spread(truth: SecretValues) -> FloatArray:
    spread = truth.highest - truth.lowest
    return np.where(spread > 0, spread, 1.0)


class SquaredError(CellMetric):
    """Eq. 10 of Luo et al. 2021."""

    name = "mse-per-feature"
    summary = "mean squared error over the column's range squared; baseline: the best blind answer"
    better = Better.LOWER
    applies_to = frozenset({SecretKind.FEATURES, SecretKind.RANGES})

    def cell_scores(self, cells: FloatArray, truth: SecretValues) -> FloatArray:
        return squared_errors(cells, truth)


def squared_errors(cells: FloatArray, truth: SecretValues) -> FloatArray:
    """Of every cell, as shares of the range squared; the column's mean where there is no guess."""
    filled = np.where(np.isnan(cells), truth.values.mean(axis=0), cells)
    return np.asarray(((filled - truth.values) / _spread(truth)) ** 2)


def mean_squared_errors(answered: Answered) -> FloatArray:
    """Of every cell, the mean over the equally good answers."""
    return np.asarray(np.mean([squared_errors(cells, answered.truth) for cells in answered.answers], axis=0))


def are_classes(labels: FloatArray) -> bool:
    """Whether labels are 0, 1, .. up to a few classes. Any others are numbers: near them is nearly right."""
    return bool(((labels == np.rint(labels)) & (labels >= 0) & (labels < MAX_CLASSES)).all())
