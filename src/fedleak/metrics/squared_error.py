"""Mean squared error per feature (Luo et al. 2021, eq. 10), in units of the column's range."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.guess import Guess
from fedleak.core.knowledge import Knowledge
from fedleak.core.score import Better, Score
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.truth import SecretValues
from fedleak.metrics.alignment import aligned, answers_of, unknown_cells
from fedleak.metrics.bootstrap import mean_interval
from fedleak.metrics.metric import Metric


class SquaredError(Metric):
    """A cell without a guess is given the column's mean. The baseline, the true mean of each column, is stronger than
    what an attacker knows: it is the best constant there is."""

    name = "mse-per-feature"
    summary = "mean squared error over the column's range squared; baseline: the column's mean"
    better = Better.LOWER
    applies_to = frozenset({SecretKind.FEATURES})

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
        spread = _spread(truth)
        mean = truth.values.mean(axis=0)
        answers = [aligned(cells, truth.values, up_to) for cells in answers_of(guess, truth)]
        error = np.mean([squared_errors(cells, truth) for cells in answers], axis=0)
        rows = unknown.any(axis=1)
        by_row = np.where(unknown, error, 0.0)[rows].sum(axis=1) / unknown[rows].sum(axis=1)
        baseline = ((mean - truth.values) / spread) ** 2
        return Score(
            self.name,
            float(error[unknown].mean()),
            float(baseline[unknown].mean()),
            self.better,
            mean_interval(by_row, rng),
            int(unknown.sum()),
        )


def squared_errors(cells: FloatArray, truth: SecretValues) -> FloatArray:
    """(rows, columns), as shares of the range squared; the column's mean where there is no guess."""
    filled = np.where(np.isnan(cells), truth.values.mean(axis=0), cells)
    result: FloatArray = ((filled - truth.values) / _spread(truth)) ** 2
    return result


def _spread(truth: SecretValues) -> FloatArray:
    spread = truth.ranges[:, 1] - truth.ranges[:, 0]
    return np.where(spread > 0, spread, 1.0)
