"""Sums a bin of every node of every tree as one linear system a column, with counts as unknowns.

A row's bin is the same in all trees, and whoever holds the labels knows g and h of every row. So with x_ib = 1 where
row i is in bin b, Σ_{i in node} g_i x_ib and Σ_{i in node} h_i x_ib are known for all nodes and bins, as whole numbers.
Rows that are in the same nodes with the same g and h are exchangeable: they form a group, and only how many of a
group are in a bin can ever be found. That is the ceiling of what the sums give away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, IntArray, Value, freeze

LARGEST_SUM = 1 << 62


class InconsistentSumsError(Exception):
    """No rows add up to the sums: they are not exact, or not of these rows."""


@dataclass(frozen=True, eq=False)
class NodeSums(Value):
    """One node, one column: its rows, their g and h in fixed point, and what they add up to in each bin."""

    rows: IntArray
    g: IntArray
    h: IntArray
    sums: IntArray  # (bins, 2): g and h

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.g) == len(self.h):
            raise ValueError(f"a node must have a g and an h for each of its {len(self.rows)} rows")
        if self.sums.ndim != 2 or self.sums.shape[1] != 2:
            raise ValueError(f"sums of a node must be (bins, 2); got {self.sums.shape}")
        for name in ("rows", "g", "h", "sums"):
            object.__setattr__(self, name, freeze(getattr(self, name)))


@dataclass(frozen=True, eq=False)
class HistogramSystem(Value):
    """Rows by groups. ``g`` and ``h`` are 0 where a group is not in a node."""

    g: IntArray  # (nodes, groups)
    h: IntArray
    sums: IntArray  # (nodes, bins, 2)
    group_of: IntArray  # (rows,)
    sizes: IntArray  # (groups,)

    @property
    def n_bins(self) -> int:
        return int(self.sums.shape[1])

    @property
    def n_groups(self) -> int:
        return len(self.sizes)

    @property
    def seen(self) -> BoolArray:
        """(groups,): those that are in some node with a weight."""
        found: BoolArray = ((self.g != 0) | (self.h != 0)).any(axis=0)
        return found


def histogram_system(n_rows: int, nodes: Sequence[NodeSums]) -> HistogramSystem:
    """All nodes of one column. h must not be negative, and no sum of a node may leave 63 bits."""
    g, h = np.zeros((len(nodes), n_rows), dtype=np.int64), np.zeros((len(nodes), n_rows), dtype=np.int64)
    for number, node in enumerate(nodes):
        if (node.h < 0).any() or float(np.abs(node.g).astype(float).sum() + node.h.astype(float).sum()) > LARGEST_SUM:
            raise ValueError("h of every row must be 0 or more, and sums of a node below 2^62; use fewer fraction bits")
        g[number, node.rows], h[number, node.rows] = node.g, node.h
    columns, group_of, sizes = np.unique(np.concatenate([g, h]).T, axis=0, return_inverse=True, return_counts=True)
    by_group = np.ascontiguousarray(columns.T)
    sums = np.stack([node.sums for node in nodes]) if nodes else np.zeros((0, 1, 2), dtype=np.int64)
    return HistogramSystem(by_group[: len(nodes)], by_group[len(nodes) :], sums, group_of.ravel(), sizes)
