"""Section IV-B: how many of a tree's n_p paths a prediction and own features leave, n_r."""

from __future__ import annotations

from dataclasses import dataclass

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.inversion.tree_paths import candidate_paths, tree_paths
from fedleak.models.tree import TreeModel


@dataclass(frozen=True, eq=False)
class PathCount:
    n_paths: int  # n_p
    by_own_features: IntArray  # (rows,): paths that own features allow
    by_prediction: IntArray  # (rows,): n_r, those that also end in the predicted class


def count_paths(tree: TreeModel, own: FloatArray, own_positions: IntArray, confidences: FloatArray) -> PathCount:
    paths = tree_paths(tree)
    allowed = paths.matching(own, own_positions)
    left = candidate_paths(paths, own, own_positions, confidences)
    return PathCount(len(paths.leaves), allowed.sum(axis=1), left.sum(axis=1))
