"""The interval score of guessed ranges: narrow is good, missing the truth is bad (Winkler 1972)."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import SecretKind, Symmetry
from fedleak.core.arrays import BoolArray, FloatArray, positions_of
from fedleak.core.attack import Guess
from fedleak.core.finding import Better, Score
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.truth import SecretValues, Served
from fedleak.metrics.alignment import told, unknown_cells
from fedleak.metrics.metric import CellMetric, mean_interval

MISS_PENALTY = 10.0  # times the distance by which the truth is missed: 2 / alpha for 80 % intervals


class IntervalScore(CellMetric):
    """Width plus a penalty for missing, over the column's range. A cell without an interval gets the whole range, one
    that is open at a side (a bound that is not finite) the range's end there."""

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
        served: Served | None = None,
    ) -> Score | None:
        unknown = unknown_cells(guess.secret, truth, knowledge)
        if guess.intervals is None or not unknown.any():
            return super().score(guess, truth, knowledge, up_to=up_to, rng=rng)
        cells = _scores(*_bounds(guess, truth), truth)
        rows = unknown.any(axis=1)
        by_row = np.where(unknown, cells, 0.0)[rows].sum(axis=1) / unknown[rows].sum(axis=1)
        return Score(
            self.name,
            float(cells[unknown].mean()),
            self.baseline(truth, unknown),
            self.better,
            mean_interval(by_row, rng),
            int(unknown.sum()),
        )

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        """A single value is a range of no width; no value is the whole range."""
        whole_low, whole_high = truth.ranges[:, 0], truth.ranges[:, 1]
        low = np.where(np.isnan(cells), whole_low, cells)
        return _scores(low, np.where(np.isnan(cells), whole_high, cells), truth)

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        nothing = np.full(truth.values.shape, np.nan)
        return float(self.cell_scores(nothing, truth, unknown)[unknown].mean())


def _bounds(guess: Guess, truth: SecretValues) -> tuple[FloatArray, FloatArray]:
    """The guessed ranges in the truth's row order, never wider than the column's own."""
    assert guess.intervals is not None
    low = np.broadcast_to(truth.ranges[:, 0], truth.values.shape).copy()
    high = np.broadcast_to(truth.ranges[:, 1], truth.values.shape).copy()
    position = positions_of(guess.ids)
    found = np.array([position.get(int(row), -1) for row in truth.ids])
    given = told(guess.intervals[found[found >= 0]])
    low[found >= 0] = np.fmax(given[:, :, 0], low[found >= 0])  # of a NaN and a number, the number
    high[found >= 0] = np.fmin(given[:, :, 1], high[found >= 0])
    return low, high


def _scores(low: FloatArray, high: FloatArray, truth: SecretValues) -> FloatArray:
    spread = truth.ranges[:, 1] - truth.ranges[:, 0]
    missed = np.maximum(low - truth.values, 0.0) + np.maximum(truth.values - high, 0.0)
    width = np.maximum(high - low, 0.0)
    return np.asarray((width + MISS_PENALTY * missed) / np.where(spread > 0, spread, 1.0))
