"""Whether columns that correlate with what the adversary sees are recovered better (Luo et al. 2021, fig. 10)."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import FloatArray, positions_of
from fedleak.core.finding import Better, Score
from fedleak.core.whole.truth import Served
from fedleak.metrics.cell_metrics import mean_squared_errors
from fedleak.metrics.metric import N_RESAMPLES, Answered, Metric

FEWEST_COLUMNS = 4  # with fewer, a rank correlation says nothing


class ErrorByCorrelation(Metric):
    """Spearman's correlation, over the victim's columns, of the squared error with the column's correlation.

    -1: the more a column correlates, the better it is recovered. It explains other figures and is no leak by itself;
    without a relation it is 0, the baseline. Columns are what is resampled for the interval.
    """

    better = Better.LOWER
    applies_to = frozenset({SecretKind.FEATURES, SecretKind.RANGES})

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        truth, unknown, served = answered.truth, answered.unknown, answered.served
        if served is None or not truth.is_table:
            return None
        place = positions_of(served.inputs.ids)
        order = np.array([place[int(row)] for row in truth.ids], dtype=np.int64)
        seen = self.seen(served)[order]
        given = np.isfinite(seen).all(axis=1)
        if given.sum() < 2 or not seen.shape[1]:
            return None
        cells = mean_squared_errors(answered)
        counted = unknown.any(axis=0)  # a column that is known whole has no error
        error = np.where(unknown, cells, 0.0).sum(axis=0)[counted] / unknown.sum(axis=0)[counted]
        correlation = mean_absolute_correlation(seen[given], truth.values[given])[counted]
        value = rank_correlation(error, correlation)
        if value is None:
            return None
        return Score(self.name, value, 0.0, self.better, _interval(error, correlation, rng), len(error))

    @abstractmethod
    def seen(self, served: Served) -> FloatArray:
        """(rows, columns) of what the adversary sees."""


class ErrorByOwnCorrelation(ErrorByCorrelation):
    name = "error-by-own-correlation"
    summary = "rank correlation of a column's error with its correlation to the adversary's columns (luo2021, eq. 16)"

    def seen(self, served: Served) -> FloatArray:
        own = [served.inputs.columns.index(name) for name in served.own]
        return np.asarray(served.inputs.values, dtype=np.float64)[:, own]


class ErrorByPredictionCorrelation(ErrorByCorrelation):
    name = "error-by-prediction-correlation"
    summary = "rank correlation of a column's error with its correlation to the predictions (luo2021, eq. 17)"

    def seen(self, served: Served) -> FloatArray:
        return served.confidences


def rank_correlation(error: FloatArray, correlation: FloatArray) -> float | None:
    """Spearman's coefficient; None with too few columns, or where one of the two is the same for all."""
    from scipy.stats import spearmanr

    if len(error) < FEWEST_COLUMNS or np.ptp(error) == 0 or np.ptp(correlation) == 0:
        return None
    return float(spearmanr(error, correlation).statistic)


def _interval(error: FloatArray, correlation: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Percentiles over resampled columns, ranked anew; a resample of one column only has no coefficient."""
    from scipy.stats import rankdata

    picks = rng.integers(len(error), size=(N_RESAMPLES, len(error)))
    ranks = [rankdata(figures[picks], axis=1) for figures in (error, correlation)]
    first, second = (rank - rank.mean(axis=1, keepdims=True) for rank in ranks)
    lengths = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    usable = lengths > 0
    found = (first * second).sum(axis=1)[usable] / lengths[usable]
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def mean_absolute_correlation(known: FloatArray, hidden: FloatArray) -> FloatArray:
    """For each hidden column, the mean over the known columns of |Pearson's r|.

    With the adversary's columns it is eq. 16, with the confidences eq. 17. A constant column has correlation 0.
    """
    first, second = _standardised(known), _standardised(hidden)
    correlation = np.abs(first.T @ second)
    return np.asarray(correlation.mean(axis=0)) if len(correlation) else np.zeros(hidden.shape[1])


def _standardised(columns: FloatArray) -> FloatArray:
    centred = columns - columns.mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    return np.asarray(centred / np.where(length > 1e-12, length, np.inf))
