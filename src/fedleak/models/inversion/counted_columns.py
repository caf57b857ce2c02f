"""How a column's values spread, from the training rows that trees counted at their leaves.

Each leaf says how many rows lie between two thresholds of the column: counts that are censored by intervals. Turnbull's
self-consistent estimate spreads every leaf's rows over its interval as the estimate says, and starts anew from the sum.
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


def counted_columns(trees: Sequence[TreeModel], columns: IntArray) -> list[ColumnHistogram] | None:
    """Of the given columns; a column that no tree splits is uniform. None where a tree was stored without counts."""
    counts = [tree.counts for tree in trees if tree.counts is not None]
    if len(counts) < len(trees):
        return None
    paths = [tree_paths(tree) for tree in trees]
    n_rows = np.concatenate([count[path.leaves] for count, path in zip(counts, paths, strict=True)]).astype(np.float64)
    low, high = (np.clip(np.concatenate([getattr(path, end) for path in paths]), 0.0, 1.0) for end in ("low", "high"))
    return [_turnbull(low[:, column], high[:, column], n_rows) for column in columns]


def _turnbull(low: FloatArray, high: FloatArray, n_rows: FloatArray) -> ColumnHistogram:
    edges = np.unique(np.concatenate([[0.0, 1.0], low, high]))
    first, last = np.searchsorted(edges, low), np.searchsorted(edges, high)
    uniform = np.diff(edges)
    shares = uniform
    told = (last > first) & (last - first < len(uniform))  # a leaf over the whole range says nothing
    for _ in range(N_ITERATIONS if told.any() else 0):
        cumulative = np.concatenate([[0.0], np.cumsum(shares)])
        rate = n_rows[told] / (cumulative[last] - cumulative[first])[told]
        change = np.bincount(first[told], rate, len(edges)) - np.bincount(last[told], rate, len(edges))
        spread = shares * np.maximum(np.cumsum(change)[:-1], 0.0)
        shares = (1.0 - UNIFORM_SHARE) * spread / spread.sum() + UNIFORM_SHARE * uniform
    return ColumnHistogram(edges, shares)
