"""The interval score of guessed ranges: narrow is good, missing the truth is bad (Winkler 1972)."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.attack import Guess
from fedleak.core.finding import Better, Score
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.alignment import places, told
from fedleak.metrics.metric import Answered, CellMetric

MISS_PENALTY = 10.0  # times the distance by which the truth is missed: 2 / alpha for 80 % intervals


class IntervalScore(CellMetric):
    """Width plus a penalty for missing, over the column's range. A cell without an interval gets the whole range, one
    that is open at a side (a bound that is not finite) the range's end there."""

    name = "interval-score"
    summary = "width of the ranges, plus 10 times the miss, over the column's range; baseline: the whole range"
    better = Better.LOWER
    applies_to = frozenset({SecretKind.RANGES})

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        truth, unknown = answered.truth, answered.unknown
        if answered.guess.intervals is None or not unknown.any():
            return super().score(answered, rng=rng)
        cells = self.cells_between(*_bounds(answered.guess, truth), truth)
        return self.score_of(cells, self.baseline(truth, unknown), unknown, rng)

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        """A single value is a range of no width; no value is the whole range."""
        low = np.where(np.isnan(cells), truth.lowest, cells)
        return self.cells_between(low, np.where(np.isnan(cells), truth.highest, cells), truth)

    def cells_between(self, low: FloatArray, high: FloatArray, truth: SecretValues) -> FloatArray:
        """The score of each cell by its range."""
        return _scores(low, high, truth)

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        nothing = np.full(truth.values.shape, np.nan)
        return float(self.cell_scores(nothing, truth, unknown)[unknown].mean())


def _bounds(guess: Guess, truth: SecretValues) -> tuple[FloatArray, FloatArray]:
    """The guessed ranges in the truth's row order, never wider than the column's own."""
    assert guess.intervals is not None
    low = np.broadcast_to(truth.lowest, truth.values.shape).copy()
    high = np.broadcast_to(truth.highest, truth.values.shape).copy()
    found = places(truth.ids, guess.ids)
    given = told(guess.intervals[found[found >= 0]])
    low[found >= 0] = np.fmax(given[..., 0], low[found >= 0])  # of a NaN and a number, the number
    high[found >= 0] = np.fmin(given[..., 1], high[found >= 0])
    return low, high


def _scores(low: FloatArray, high: FloatArray, truth: SecretValues) -> FloatArray:
    spread = truth.highest - truth.lowest
    missed = np.maximum(low - truth.values, 0.0) + np.maximum(truth.values - high, 0.0)
    width = np.maximum(high - low, 0.0)
    return np.asarray((width + MISS_PENALTY * missed) / np.where(spread > 0, spread, 1.0))


class IntervalWidth(IntervalScore):
    """How narrow the ranges are, whether they hold the truth or not."""

    name = "interval-width"
    summary = "width of the ranges over the column's range; baseline: the whole range"

    def cells_between(self, low: FloatArray, high: FloatArray, truth: SecretValues) -> FloatArray:
        spread = truth.highest - truth.lowest
        return np.asarray(np.maximum(high - low, 0.0) / np.where(spread > 0, spread, 1.0))


class IntervalCoverage(IntervalScore):
    """How often the ranges hold the truth: the whole range always does, so that this never decides by itself."""

    name = "interval-coverage"
    summary = "share of the ranges that hold the true value; baseline: the whole range, which always does"
    better = Better.HIGHER

    def cells_between(self, low: FloatArray, high: FloatArray, truth: SecretValues) -> FloatArray:
        slack = 1e-9 * (truth.highest - truth.lowest)
        return np.asarray((truth.values >= low - slack) & (truth.values <= high + slack), dtype=np.float64)
