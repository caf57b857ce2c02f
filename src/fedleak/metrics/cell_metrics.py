"""How close each guessed cell is: within 1 % of the range or not, mean and squared error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, flat_rows
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
    """The baseline names one value a column, the best one there is: stronger than what an attacker knows.

    A cell without a guess is given that value too, so that a partial guess never scores below no guess.
    ``recovered_share`` counts the cells that were really recovered.

    A column without a range counts too: who names its one value has its cells. The baseline names it as well, so that
    such a column is no leak by itself.
    """

    name = "cells-recovered"
    summary = "share of cells within 1 % of the column's range; baseline: the best constant a column"
    applies_to = REAL_VALUED

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        return real_valued(kind, truth)

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        return within_margin(np.where(np.isnan(cells), _best_constants(truth, unknown), cells), truth).astype(
            np.float64
        )

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        constants = np.broadcast_to(_best_constants(truth, unknown), truth.values.shape)
        return float(within_margin(constants, truth)[unknown].mean())


def recovered_share(answered: Answered) -> float:
    """Share of the unknown cells that the attack itself puts within the margin; what it leaves open does not count."""
    truth, unknown = answered.truth, answered.unknown
    return float(np.mean([within_margin(cells, truth)[unknown].mean() for cells in answered.answers]))


def within_margin(cells: FloatArray, truth: SecretValues) -> BoolArray:
    """True where a cell counts as recovered. A NaN is never within: who does not guess a cell has not recovered it."""
    found: BoolArray = np.abs(cells - truth.values) <= _margin(truth) + 1e-12 * np.abs(truth.values)
    return found


def _best_constants(truth: SecretValues, unknown: BoolArray) -> FloatArray:
    """For each cell of a row the value that puts the most unknown ones within the margin (a sliding window)."""
    values, counted = flat_rows(truth.values), flat_rows(unknown)
    constants = np.zeros(values.shape[1])
    for column, margin in enumerate(_margin(truth).ravel()):
        ordered = np.sort(values[counted[:, column], column])
        if len(ordered):
            ends = np.searchsorted(ordered, ordered + 2 * margin, side="right")
            start = int(np.argmax(ends - np.arange(len(ordered))))
            constants[column] = (ordered[start] + ordered[ends[start] - 1]) / 2
    return constants.reshape(truth.cell_shape)


def _margin(truth: SecretValues) -> FloatArray:
    low, high = truth.lowest, truth.highest
    constant = CONSTANT_TOLERANCE * np.where(low == 0, 1.0, np.abs(low))
    return np.where(high > low, TOLERANCE * (high - low), constant)


class MeanError(CellMetric):
    """A cell without a guess is given the column's median, the constant of least mean error."""

    name = "mean-error"
    summary = "mean absolute error over the column's range; baseline: the column's median"
    better = Better.LOWER
    applies_to = REAL_VALUED

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        return real_valued(kind, truth)

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        filled = np.where(np.isnan(cells), _of_present(np.median, truth), cells)
        return np.asarray(np.abs(filled - truth.values) / _spread(truth))

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        nothing = np.full(truth.values.shape, np.nan)
        return float(self.cell_scores(nothing, truth, unknown)[unknown].mean())


def _of_present(middle: Callable[..., FloatArray], truth: SecretValues) -> FloatArray:
    """The middle of each column; a missing cell counts nowhere."""
    absent = np.isnan(truth.values)
    if not absent.any():
        return np.asarray(middle(truth.values, axis=0))
    columns = flat_rows(truth.values).T
    found = [float(middle(column[~np.isnan(column)])) if not np.isnan(column).all() else 0.0 for column in columns]
    return np.array(found).reshape(truth.cell_shape)


def _spread(truth: SecretValues) -> FloatArray:
    spread = truth.highest - truth.lowest
    return np.where(spread > 0, spread, 1.0)


class SquaredError(CellMetric):
    """Eq. 10 of Luo et al. 2021. A cell without a guess is given the column's mean.

    The baseline, the true mean of each column, is the best constant there is: stronger than what an attacker knows.
    """

    name = "mse-per-feature"
    summary = "mean squared error over the column's range squared; baseline: the column's mean"
    better = Better.LOWER
    applies_to = frozenset({SecretKind.FEATURES, SecretKind.RANGES, SecretKind.IMAGES})

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        return squared_errors(cells, truth)

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        nothing = np.full(truth.values.shape, np.nan)
        return float(squared_errors(nothing, truth)[unknown].mean())


def squared_errors(cells: FloatArray, truth: SecretValues) -> FloatArray:
    """Of every cell, as shares of the range squared; the column's mean where there is no guess."""
    filled = np.where(np.isnan(cells), _of_present(np.mean, truth), cells)
    return np.asarray(((filled - truth.values) / _spread(truth)) ** 2)


def mean_squared_errors(answered: Answered) -> FloatArray:
    """Of every cell, the mean over the equally good answers."""
    return np.asarray(np.mean([squared_errors(cells, answered.truth) for cells in answered.answers], axis=0))


def are_classes(labels: FloatArray) -> bool:
    """Whether labels are 0, 1, .. up to a few classes. Any others are numbers: near them is nearly right."""
    return bool(((labels == np.rint(labels)) & (labels >= 0) & (labels < MAX_CLASSES)).all())
