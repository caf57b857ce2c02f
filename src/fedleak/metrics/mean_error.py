"""Mean absolute error as a share of the column's range."""

from __future__ import annotations

import numpy as np

from fedleak.core.guess import Guess
from fedleak.core.knowledge import Knowledge
from fedleak.core.score import Better, Score
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.truth import SecretValues
from fedleak.metrics.alignment import aligned, answers_of, unknown_cells
from fedleak.metrics.bootstrap import mean_interval
from fedleak.metrics.metric import Metric


class MeanError(Metric):
    """A cell without a guess is given the column's median, the constant of least mean error."""

    name = "mean-error"
    summary = "mean absolute error over the column's range; baseline: the column's median"
    better = Better.LOWER
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
        spread = truth.ranges[:, 1] - truth.ranges[:, 0]
        spread = np.where(spread > 0, spread, 1.0)
        median = np.median(truth.values, axis=0)
        errors = [
            np.abs(np.where(np.isnan(cells), median, cells) - truth.values) / spread
            for cells in (aligned(cells, truth.values, up_to) for cells in answers_of(guess, truth))
        ]
        error = np.mean(errors, axis=0)
        rows = unknown.any(axis=1)
        by_row = np.where(unknown, error, 0.0)[rows].sum(axis=1) / unknown[rows].sum(axis=1)
        return Score(
            self.name,
            float(error[unknown].mean()),
            float((np.abs(median - truth.values) / spread)[unknown].mean()),
            self.better,
            mean_interval(by_row, rng),
            int(unknown.sum()),
        )
