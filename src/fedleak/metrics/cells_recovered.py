"""Share of unknown cells recovered to within 1 % of the column's range: the figure all feature attacks share."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.guess import Guess
from fedleak.core.knowledge import Knowledge
from fedleak.core.score import Better, Score
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.truth import SecretValues
from fedleak.metrics.alignment import aligned, answers_of, unknown_cells
from fedleak.metrics.bootstrap import mean_interval
from fedleak.metrics.metric import Metric

TOLERANCE = 0.01  # of the column's range


class CellsRecovered(Metric):
    """The baseline names one value a column, the best one there is: stronger than what an attacker knows."""

    name = "cells-recovered"
    summary = "share of cells within 1 % of the column's range; baseline: the best constant a column"
    better = Better.HIGHER
    applies_to = frozenset(
        {SecretKind.FEATURES, SecretKind.RESIDUALS, SecretKind.PARTIAL_SCORES, SecretKind.GRAM, SecretKind.WEIGHTS}
    )

    def score(
        self,
        guess: Guess,
        truth: SecretValues,
        knowledge: Knowledge,
        *,
        up_to: frozenset[Symmetry],
        rng: np.random.Generator,
    ) -> Score:
        unknown = unknown_cells(guess.secret, truth, knowledge)
        margin = TOLERANCE * (truth.ranges[:, 1] - truth.ranges[:, 0])
        answers = [aligned(cells, truth.values, up_to) for cells in answers_of(guess, truth)]
        hits = np.mean([_within(cells, truth.values, margin) for cells in answers], axis=0)
        rows = unknown.any(axis=1)
        by_row = np.where(unknown, hits, 0.0)[rows].sum(axis=1) / unknown[rows].sum(axis=1)
        return Score(
            self.name,
            float(hits[unknown].mean()),
            _best_constant_share(truth.values, unknown, margin),
            self.better,
            mean_interval(by_row, rng),
            int(unknown.sum()),
        )


def _within(cells: FloatArray, truth: FloatArray, margin: FloatArray) -> BoolArray:
    # A NaN is never within: a cell that the attack does not guess is not recovered.
    result: BoolArray = np.abs(cells - truth) <= margin + 1e-12 * np.abs(truth)
    return result


def _best_constant_share(values: FloatArray, unknown: BoolArray, margin: FloatArray) -> float:
    """Over the columns, the most cells that one constant puts within the margin (a sliding window)."""
    hit = 0
    for column in range(values.shape[1]):
        ordered = np.sort(values[unknown[:, column], column])
        ends = np.searchsorted(ordered, ordered + 2 * margin[column], side="right")
        hit += int((ends - np.arange(len(ordered))).max(initial=0))
    return hit / int(unknown.sum())
