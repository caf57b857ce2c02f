"""Join products g = w_t x_i, each of an unknown weight and an unknown value, by a union-find with ratios.

Lemma 3.4 of Hu et al. 2022 merges sets of rows whose ratios are known whenever a batch holds rows of both. Here
batches are nodes too, so that one observation is one edge: it ties a row's value to the batch's weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray


class RatioForest:
    """Sets of nodes; within a set each node's value is known as a multiple of the root's."""

    def __init__(self, n_nodes: int) -> None:
        self._parent = list(range(n_nodes))
        self._ratio = [1.0] * n_nodes  # value of the node over the value of its parent

    def find(self, node: int) -> tuple[int, float]:
        """The root and the node's value over the root's, with the path shortened."""
        path = []
        while self._parent[node] != node:
            path.append(node)
            node = self._parent[node]
        ratio = 1.0
        for step in reversed(path):  # nearest to the root first
            ratio *= self._ratio[step]
            self._parent[step], self._ratio[step] = node, ratio
        return node, ratio

    def join(self, one: int, other: int, ratio: float) -> bool:
        """Record value(one) = ratio value(other); False where it was known already."""
        root_one, from_one = self.find(one)
        root_other, from_other = self.find(other)
        if root_one == root_other:
            return False
        self._parent[root_one] = root_other
        self._ratio[root_one] = ratio * from_other / from_one
        return True


@dataclass(frozen=True, eq=False)
class Observations:
    """``value`` = weight of ``batch`` times value of ``row``, to about ``error``; all flat, one entry each."""

    batch: IntArray
    row: IntArray
    value: FloatArray
    error: FloatArray


@dataclass(frozen=True, eq=False)
class RankOne:
    """The largest joined set: row values and batch weights up to one factor; NaN outside it."""

    rows: FloatArray
    weights: FloatArray
    n_sets: int  # sets that hold two or more rows, and do not join


def join_products(seen: Observations, n_batches: int, n_rows: int) -> RankOne:
    """Kruskal's order, strongest observation first: chains of ratios run through well-measured values only."""
    forest = RatioForest(n_batches + n_rows)
    strength = np.abs(seen.value) / seen.error
    for edge in np.argsort(-strength, kind="stable"):
        # w_t x_i = g, in ratios: x_i = g / w_t. Inverse weights as the batches' values keep it multiplicative.
        forest.join(n_batches + int(seen.row[edge]), int(seen.batch[edge]), float(seen.value[edge]))
    found = [forest.find(node) for node in range(n_batches + n_rows)]
    roots = np.array([root for root, _ in found])
    ratios = np.array([ratio for _, ratio in found])
    sets, counts = np.unique(roots[n_batches:], return_counts=True)
    largest = sets[np.argmax(counts)]
    member = roots == largest
    inverse_weights = np.where(member[:n_batches], ratios[:n_batches], np.nan)
    rows = np.where(member[n_batches:], ratios[n_batches:], np.nan)
    return RankOne(rows, 1 / inverse_weights, int(np.sum(counts > 1)))


def refine(start: RankOne, seen: Observations, *, sweeps: int = 30) -> RankOne:
    """Alternating weighted least squares over all observations of the joined set, from the forest's answer."""
    rows, weights = start.rows.copy(), start.weights.copy()
    inside = np.isfinite(rows[seen.row]) & np.isfinite(weights[seen.batch])
    batch, row = seen.batch[inside], seen.row[inside]
    value, trust = seen.value[inside], seen.error[inside] ** -2.0
    for _ in range(sweeps):
        rows = _project(row, value, weights[batch], trust, rows)
        weights = _project(batch, value, rows[row], trust, weights)
    return RankOne(rows, weights, start.n_sets)


def _project(index: IntArray, value: FloatArray, factor: FloatArray, trust: FloatArray, old: FloatArray) -> FloatArray:
    """argmin over v of sum trust (value - v factor)^2 for each index; the old value where nothing is seen."""
    above = np.bincount(index, trust * factor * value, len(old))
    below = np.bincount(index, trust * factor**2, len(old))
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), old)
