"""Share of unknown cells recovered to within 1 % of the column's range: the figure all feature attacks share."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.guess import Guess
from fedleak.core.knowledge import Knowledge
from fedleak.core.score import Better
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.truth import SecretValues
from fedleak.metrics.alignment import aligned, answers_of, unknown_cells
from fedleak.metrics.label_accuracy import are_classes
from fedleak.metrics.metric import CellMetric

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
    }
)


def real_valued(kind: SecretKind, truth: SecretValues) -> bool:
    """Whether an error has a size here: it has none between classes."""
    return kind is not SecretKind.LABELS or not are_classes(truth.values)


class CellsRecovered(CellMetric):
    """The baseline names one value a column, the best one there is: stronger than what an attacker knows.

    A cell without a guess is given that value too, so that a partial guess never scores below no guess.
    ``recovered_share`` counts the cells that were really recovered.

    A column without a range counts too: who names its one value has its cells. The baseline names it as well, so that
    such a column is no leak by itself.
    """

    name = "cells-recovered"
    summary = "share of cells within 1 % of the column's range; baseline: the best constant a column"
    better = Better.HIGHER
    applies_to = REAL_VALUED

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        return real_valued(kind, truth)

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        return _within(np.where(np.isnan(cells), _best_constants(truth, unknown), cells), truth).astype(np.float64)

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        constants = np.broadcast_to(_best_constants(truth, unknown), truth.values.shape)
        return float(_within(constants, truth)[unknown].mean())


def recovered_share(guess: Guess, truth: SecretValues, knowledge: Knowledge, up_to: frozenset[Symmetry]) -> float:
    """Share of the unknown cells that the attack itself puts within the margin; what it leaves open does not count."""
    unknown = unknown_cells(guess.secret, truth, knowledge)
    answers = [aligned(cells, truth.values, up_to) for cells in answers_of(guess, truth)]
    return float(np.mean([_within(cells, truth)[unknown].mean() for cells in answers]))


def _within(cells: FloatArray, truth: SecretValues) -> BoolArray:
    # A NaN is never within: a cell that the attack does not guess is not recovered.
    found: BoolArray = np.abs(cells - truth.values) <= _margin(truth) + 1e-12 * np.abs(truth.values)
    return found


def _best_constants(truth: SecretValues, unknown: BoolArray) -> FloatArray:
    """For each column the value that puts the most unknown cells within the margin (a sliding window)."""
    constants = np.zeros(len(truth.columns))
    for column, margin in enumerate(_margin(truth)):
        ordered = np.sort(truth.values[unknown[:, column], column])
        if len(ordered):
            ends = np.searchsorted(ordered, ordered + 2 * margin, side="right")
            start = int(np.argmax(ends - np.arange(len(ordered))))
            constants[column] = (ordered[start] + ordered[ends[start] - 1]) / 2
    return constants


def _margin(truth: SecretValues) -> FloatArray:
    low, high = truth.ranges[:, 0], truth.ranges[:, 1]
    constant = CONSTANT_TOLERANCE * np.where(low == 0, 1.0, np.abs(low))
    return np.where(high > low, TOLERANCE * (high - low), constant)
