"""The interval score of guessed ranges: narrow is good, missing the truth is bad (Winkler 1972)."""

from __future__ import annotations

import numpy as np

from fedleak.core.guess import Guess
from fedleak.core.knowledge import Knowledge
from fedleak.core.score import Better, Score
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.truth import SecretValues
from fedleak.metrics.alignment import unknown_cells
from fedleak.metrics.bootstrap import mean_interval
from fedleak.metrics.metric import Metric

MISS_PENALTY = 10.0  # times the distance by which the truth is missed: 2 / alpha for 80 % intervals


class IntervalScore(Metric):
    """Width plus a penalty for missing, over the column's range. A cell without an interval gets the whole range."""

    name = "interval-score"
    summary = "width of the ranges, plus 10 times the miss, over the column's range; baseline: the whole range"
    better = Better.LOWER
    applies_to = frozenset({SecretKind.RANGES})

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
        low = np.broadcast_to(truth.ranges[:, 0], truth.values.shape).copy()
        high = np.broadcast_to(truth.ranges[:, 1], truth.values.shape).copy()
        spread = np.where(truth.ranges[:, 1] > truth.ranges[:, 0], truth.ranges[:, 1] - truth.ranges[:, 0], 1.0)
        if guess.intervals is not None:
            position = {int(row): index for index, row in enumerate(guess.ids)}
            found = np.array([position.get(int(row), -1) for row in truth.ids])
            given = guess.intervals[found[found >= 0]]
            low[found >= 0] = np.maximum(given[:, :, 0], low[found >= 0])
            high[found >= 0] = np.minimum(given[:, :, 1], high[found >= 0])
        missed = np.maximum(low - truth.values, 0) + np.maximum(truth.values - high, 0)
        cells = (np.maximum(high - low, 0) + MISS_PENALTY * missed) / spread
        rows = unknown.any(axis=1)
        by_row = np.where(unknown, cells, 0.0)[rows].sum(axis=1) / unknown[rows].sum(axis=1)
        whole = (truth.ranges[:, 1] - truth.ranges[:, 0]) / spread
        baseline = float(np.broadcast_to(whole, cells.shape)[unknown].mean())
        return Score(
            self.name,
            float(cells[unknown].mean()),
            baseline,
            self.better,
            mean_interval(by_row, rng),
            int(unknown.sum()),
        )
