"""Leaves from scores: a score is a sum of one leaf's weight a tree, and the label holder knows the weights.

With few trees a score, the sums of all combinations of leaves differ: meeting in the middle finds the one that fits.
Where several fit, or there are too many to go through, the record says nothing.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.boosting.known_shape import NONE
from fedleak.core.arrays import FloatArray, IntArray

LARGEST_HALF = 200_000  # combinations of leaves of half of a score's trees
NEAR = 1e-11  # of the largest sum: rounding of a sum of a few dozen weights


def leaves_of_scores(
    scores: FloatArray, weight: FloatArray, leaves: list[IntArray], score_of_tree: IntArray, first_score: float
) -> IntArray:
    """(records, trees): the leaf in every tree, by its number among all nodes, or NONE where it is not certain."""
    found = np.full((len(scores), len(leaves)), NONE, dtype=np.int64)
    for score in np.unique(score_of_tree):
        trees = np.flatnonzero(score_of_tree == score)
        found[:, trees] = _combination(scores[:, score] - first_score, weight, [leaves[tree] for tree in trees])
    return found


def few_combinations(leaves: list[IntArray], score_of_tree: IntArray) -> bool:
    """Whether the leaves of every score can be gone through."""
    scores = [[leaves[tree] for tree in np.flatnonzero(score_of_tree == score)] for score in np.unique(score_of_tree)]
    return all(_largest_half(trees) <= LARGEST_HALF for trees in scores)


def _largest_half(leaves: list[IntArray]) -> float:
    middle = len(leaves) // 2
    return max(float(np.prod([float(len(tree)) for tree in half])) for half in (leaves[:middle], leaves[middle:]))


def _combination(sums: FloatArray, weight: FloatArray, leaves: list[IntArray]) -> IntArray:
    nothing = np.full((len(sums), len(leaves)), NONE, dtype=np.int64)
    if _largest_half(leaves) > LARGEST_HALF:
        return nothing
    middle = len(leaves) // 2
    halves = [leaves[:middle], leaves[middle:]]
    (one, one_leaves), (other, other_leaves) = (_sums(weight, half) for half in halves)
    order = np.argsort(one, kind="stable")
    near = NEAR * max(1.0, float(np.abs(weight).max(initial=0.0)) * len(leaves))
    for record, total in enumerate(sums):
        low, high = (np.searchsorted(one[order], total - other + way, "left") for way in (-near, near))
        if int((high - low).sum()) == 1:
            match = int(np.argmax(high > low))
            nothing[record] = [*one_leaves[order[low[match]]], *other_leaves[match]]
    return nothing


def _sums(weight: FloatArray, leaves: list[IntArray]) -> tuple[FloatArray, IntArray]:
    """Of every combination of one leaf a tree."""
    grids = np.meshgrid(*leaves, indexing="ij")
    chosen = np.stack([grid.ravel() for grid in grids], axis=1) if leaves else np.zeros((1, 0), dtype=np.int64)
    return np.asarray(weight[chosen].sum(axis=1)), chosen
