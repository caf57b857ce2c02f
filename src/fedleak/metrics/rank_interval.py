"""The area under the ROC curve of rows in two classes, with an interval that holds with few rows, ties and no error.

Variances: DeLong et al. 1988 (of the rows at hand), Hanley and McNeil 1982 (of what the area may be). The interval is
a score interval as in Newcombe 2006: its ends are the areas that the measured one is 1.96 standard errors away from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.metrics.exact_shares import TAIL

Z = 1.959964  # of 95 %
LARGEST_ODDS = 60.0  # as a logarithm; an area that far from 1/2 is 1
BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rows by how surely they are said to be positive, the surest first; rows that are not told apart are a group."""

    positives: IntArray  # of each group
    negatives: IntArray

    @classmethod
    def of(cls, scores: FloatArray, positive: BoolArray) -> Ranking:
        _, group = np.unique(-scores, return_inverse=True)
        size = int(group.max()) + 1
        return cls(np.bincount(group[positive], minlength=size), np.bincount(group[~positive], minlength=size))

    @property
    def n_positives(self) -> int:
        return int(self.positives.sum())

    @property
    def n_negatives(self) -> int:
        return int(self.negatives.sum())

    @property
    def table(self) -> IntArray:
        return np.stack([self.positives, self.negatives])

    @cached_property
    def wins(self) -> FloatArray:
        """Negatives that a positive of each group stands before; one beside it is half a win."""
        return np.asarray(self.n_negatives - np.cumsum(self.negatives) + self.negatives / 2)

    @property
    def area(self) -> float:
        """Of a positive and a negative, how often the positive stands before (Mann and Whitney's U)."""
        return float(self.positives @ self.wins) / (self.n_positives * self.n_negatives)


def area_interval(ranking: Ranking) -> tuple[float, float]:
    area, turned = ranking.area, Ranking(ranking.negatives, ranking.positives)
    return _lower_end(ranking, area), 1.0 - _lower_end(turned, 1.0 - area)


def _lower_end(ranking: Ranking, area: float) -> float:
    first, second = ranking.n_positives, ranking.n_negatives
    if area == 1.0:
        return _lowest_without_error(first, second)
    measured, ties = _measured_variance(ranking), _untied(ranking)

    def beyond(true: float) -> float:
        return area - true - Z * float(np.sqrt(max(measured, ties * _variance(true, first, second))))

    if ties == 0.0:
        return area  # all rows are alike: it is 1/2, whatever their labels
    return _root(beyond, 0.0, area)


def _measured_variance(ranking: Ranking) -> float:
    """DeLong et al. 1988: of the rows' own shares of pairs won, in either class. A class of one row has none."""
    parts = 0.0
    for counts, others in ((ranking.positives, ranking.negatives), (ranking.negatives, ranking.positives)):
        n, shares = int(counts.sum()), (np.cumsum(others) - others / 2) / others.sum()
        if n > 1:
            mean = counts @ shares / n
            parts += float(counts @ (shares - mean) ** 2) / (n - 1) / n
    return parts


def _variance(area: float, first: int, second: int) -> float:
    """Hanley and McNeil 1982, eq. 2, the larger of its two directions; at 1/2 it is the rank test's."""
    above, below = area * (1 - area) ** 2 / (2 - area), area**2 * (1 - area) / (1 + area)
    larger = max((m - 1) * above + (n - 1) * below for m, n in ((first, second), (second, first)))
    return (area * (1 - area) + larger) / (first * second)


def _untied(ranking: Ranking) -> float:
    """By how much ties lower the variance of the rank test: 1 without any, 0 where all rows are alike."""
    sizes = (ranking.positives + ranking.negatives).astype(np.float64)
    n = sizes.sum()
    return float(1 - (sizes**3 - sizes).sum() / (n**3 - n))


def _lowest_without_error(first: int, second: int) -> float:
    """The area under which all of ``first`` stand before all of ``second`` with probability 2.5 %, where the odds are
    the same at every place (Lehmann 1953), in the worse of the two directions. At 1/2 that is 1 in all choices of rows.
    """

    def excess(odds: float, m: int, n: int) -> float:
        return float(np.log(TAIL) + np.log1p(n / (np.arange(1, m + 1) * np.exp(odds))).sum())

    sizes = ((first, second), (second, first))
    lowest = min(_root(partial(excess, m=m, n=n), -LARGEST_ODDS, LARGEST_ODDS) for m, n in sizes)
    return float(1 / (1 + np.exp(-lowest)))


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function crosses zero, the lower side of it; scipy's solvers take longer to load than an audit's
    metrics to run."""
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return low
