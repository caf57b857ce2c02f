"""How a column's values spread, from the training rows that trees counted at their leaves.

Each leaf says how many rows lie between two thresholds of the column: counts that are censored by intervals. Turnbull's
self-consistent estimate spreads every leaf's rows over its interval as the estimate says, and starts anew from the sum.

Nodes that split a column are those where its values differ. That hardly bends the estimate, as leaves weigh by their
rows: a flag of 1 in 50 rows is taken for one of 1 in 40. A column that no tree splits is not counted at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.inversion.tree_paths import tree_paths
from fedleak.models.tree_models import TreeModel

N_ITERATIONS = 30  # few: an estimate that is driven on grows spikes
UNIFORM_SHARE = 0.01  # of the estimate: no interval is left empty
N_BINS = 32  # of a histogram of values


@dataclass(frozen=True, eq=False)
class ColumnHistogram:
    """Of a column on the unit interval; values are uniform between two edges."""

    edges: FloatArray  # from 0 to 1
    shares: FloatArray

    @property
    def mean(self) -> float:
        return float(self.shares @ self._middles)

    @property
    def variance(self) -> float:
        within = np.diff(self.edges) ** 2 / 12.0
        return float(self.shares @ ((self._middles - self.mean) ** 2 + within))

    @property
    def _middles(self) -> FloatArray:
        return np.asarray((self.edges[:-1] + self.edges[1:]) / 2.0)

    @property
    def _cumulative(self) -> FloatArray:
        found = np.concatenate([[0.0], np.cumsum(self.shares)])
        return np.asarray(found / found[-1])

    def below(self, values: FloatArray) -> FloatArray:
        """The share of the column below each value."""
        return np.asarray(np.interp(values, self.edges, self._cumulative))

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        return np.asarray(np.interp(rng.random(size), self._cumulative, self.edges))


def pooled_histogram(values: FloatArray) -> ColumnHistogram:
    """Of values on the unit interval, all columns together; one more in each bin, so that none is empty."""
    counts = np.bincount(bins_of(values).ravel(), minlength=N_BINS) + 1.0
    return ColumnHistogram(np.linspace(0.0, 1.0, N_BINS + 1), counts / counts.sum())


def bins_of(values: FloatArray) -> IntArray:
    return np.clip((values * N_BINS).astype(np.int64), 0, N_BINS - 1)


def counted_columns(
    trees: Sequence[TreeModel], columns: IntArray, uncounted: ColumnHistogram
) -> list[ColumnHistogram] | None:
    """Of the given columns; ``uncounted`` is what is thought of one that no tree splits.

    None where a tree was stored without counts.
    """
    counts = [tree.counts for tree in trees if tree.counts is not None]
    if len(counts) < len(trees):
        return None
    paths = [tree_paths(tree) for tree in trees]
    n_rows = np.concatenate([count[path.leaves] for count, path in zip(counts, paths, strict=True)]).astype(np.float64)
    low, high = (np.clip(np.concatenate([getattr(path, end) for path in paths]), 0.0, 1.0) for end in ("low", "high"))
    return [_turnbull(low[:, column], high[:, column], n_rows) or uncounted for column in columns]


def _turnbull(low: FloatArray, high: FloatArray, n_rows: FloatArray) -> ColumnHistogram | None:
    """None where no leaf tells."""
    edges = np.unique(np.concatenate([[0.0, 1.0], low, high]))
    first, last = np.searchsorted(edges, low), np.searchsorted(edges, high)
    uniform = np.diff(edges)
    shares = uniform
    told = (last > first) & (last - first < len(uniform))  # a leaf over the whole range says nothing
    if not told.any():
        return None
    for _ in range(N_ITERATIONS):
        cumulative = np.concatenate([[0.0], np.cumsum(shares)])
        rate = n_rows[told] / (cumulative[last] - cumulative[first])[told]
        change = np.bincount(first[told], rate, len(edges)) - np.bincount(last[told], rate, len(edges))
        spread = shares * np.maximum(np.cumsum(change)[:-1], 0.0)
        shares = (1.0 - UNIFORM_SHARE) * spread / spread.sum() + UNIFORM_SHARE * uniform
    return ColumnHistogram(edges, shares)
