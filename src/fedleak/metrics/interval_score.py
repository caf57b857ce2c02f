"""The interval score of guessed ranges: narrow is good, missing the truth is bad (Winkler 1972)."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import FloatArray, flat_rows
from fedleak.core.attack import Guess
from fedleak.core.finding import Better, Score
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.alignment import places, told
from fedleak.metrics.metric import Answered, CellMetric

PLACES = (0.0, 0.05, *(tenth / 10 for tenth in range(1, 10)), 0.95, 1.0)  # of the range
FIXED = tuple((low, high) for low in PLACES for high in PLACES if low <= high)
MISS_PENALTY = 10.0  # times the distance by which the truth is missed: 2 / alpha for 80 % intervals


class IntervalScore(CellMetric):
    """Width plus a penalty for missing, over the column's range. A cell without an interval gets the whole range, one
    that is open at a side (a bound that is not finite) the range's end there.

    Blind is the best interval that is the same for all rows, among those between tenths and twentieths of the range.
    """

    name = "interval-score"
    summary = "width of the ranges, plus 10 times the miss, over the column's range; baseline: the best fixed range"
    better = Better.LOWER
    applies_to = frozenset({SecretKind.RANGES})

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        truth, unknown = answered.truth, answered.unknown
        if not unknown.any():
            return None
        low, high = bounds_of(answered)
        return self.score_of(self.between(low, high, truth), self.blind_scores(answered), unknown, rng)

    def between(self, low: FloatArray, high: FloatArray, truth: SecretValues) -> FloatArray:
        """The score of each cell by its range."""
        return interval_scores(low, high, truth)

    def blind_scores(self, answered: Answered) -> FloatArray:
        truth = answered.truth
        spread, best = truth.highest - truth.lowest, np.full(flat_rows(truth.values).shape[1], -np.inf)
        found = np.zeros(truth.values.shape)
        for low, high in FIXED:
            scores = interval_scores(truth.lowest + low * spread, truth.lowest + high * spread, truth)
            means = self.column_means(scores, answered.unknown)
            found = np.where((means > best).reshape(truth.cell_shape), scores, found)
            best = np.maximum(means, best)
        return found

    def cell_scores(self, cells: FloatArray, truth: SecretValues) -> FloatArray:
        """A single value is a range of no width."""
        return self.between(cells, cells, truth)


class WholeRangeBaseline(IntervalScore):
    """One side of the interval score by itself: which fixed range is best at it says nothing, so the whole one is
    blind."""

    def blind_scores(self, answered: Answered) -> FloatArray:
        truth = answered.truth
        found = self.between(truth.lowest, truth.highest, truth)
        return np.broadcast_to(found, truth.values.shape)


class IntervalWidth(WholeRangeBaseline):
    """How narrow the ranges are, whether they hold the truth or not."""

    name = "interval-width"
    summary = "width of the ranges over the column's range; baseline: the whole range"

    def between(self, low: FloatArray, high: FloatArray, truth: SecretValues) -> FloatArray:
        spread = truth.highest - truth.lowest
        return np.asarray(np.maximum(high - low, 0.0) / np.where(spread > 0, spread, 1.0))


class IntervalCoverage(WholeRangeBaseline):
    """How often the ranges hold the truth: the whole range always does, so that this never decides by itself."""

    name = "interval-coverage"
    summary = "share of the ranges that hold the true value; baseline: the whole range, which always does"
    better = Better.HIGHER

    def between(self, low: FloatArray, high: FloatArray, truth: SecretValues) -> FloatArray:
        slack = 1e-9 * (truth.highest - truth.lowest)
        return np.asarray((truth.values >= low - slack) & (truth.values <= high + slack), dtype=np.float64)


def bounds_of(answered: Answered) -> tuple[FloatArray, FloatArray]:
    """The guessed ranges; of a guess without any, its values; in either, the whole range where nothing is said."""
    truth = answered.truth
    if answered.guess.intervals is not None:
        return _bounds(answered.guess, truth)
    cells = answered.answers[0]
    low, high = (np.where(np.isnan(cells), end, cells) for end in (truth.lowest, truth.highest))
    return low, high


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


def interval_scores(low: FloatArray, high: FloatArray, truth: SecretValues) -> FloatArray:
    spread = truth.highest - truth.lowest
    missed = np.maximum(low - truth.values, 0.0) + np.maximum(truth.values - high, 0.0)
    width = np.maximum(high - low, 0.0)
    return np.asarray((width + MISS_PENALTY * missed) / np.where(spread > 0, spread, 1.0))
