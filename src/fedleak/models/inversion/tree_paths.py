"""The paths of a tree as boxes, and which of them a prediction leaves possible (Luo et al. 2021, algorithm 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.models.tree_models import TreeModel


@dataclass(frozen=True, eq=False)
class TreePaths:
    """One path a leaf: the inputs that reach it are those with low < x <= high in every column."""

    leaves: IntArray  # node numbers
    low: FloatArray  # (paths, columns)
    high: FloatArray
    outputs: FloatArray  # (paths, classes): the confidences that the leaf gives

    def matching(self, values: FloatArray, positions: IntArray) -> BoolArray:
        """(rows, paths): the known columns of the row allow the path."""
        result = np.ones((len(values), len(self.leaves)), dtype=np.bool_)
        for column, position in enumerate(positions):
            own = values[:, column, None]
            result &= (own > self.low[:, position]) & (own <= self.high[:, position])
        return result

    def with_output(self, confidences: FloatArray, tolerance: float) -> BoolArray:
        """(rows, paths): the leaf gives these confidences."""
        gap = np.abs(confidences[:, None, :] - self.outputs[None, :, :]).max(axis=2)
        result: BoolArray = gap <= tolerance
        return result


def tree_paths(tree: TreeModel) -> TreePaths:
    n_nodes, width = len(tree.left), len(tree.columns)
    low, high = np.full((n_nodes, width), -np.inf), np.full((n_nodes, width), np.inf)
    for node in np.flatnonzero(~tree.is_leaf):  # parents come before their children
        feature, threshold = tree.feature[node], tree.threshold[node]
        for child in (tree.left[node], tree.right[node]):
            low[child], high[child] = low[node], high[node]
        high[tree.left[node], feature] = min(high[node, feature], threshold)
        low[tree.right[node], feature] = max(low[node, feature], threshold)
    leaves = np.flatnonzero(tree.is_leaf)
    return TreePaths(leaves, low[leaves], high[leaves], tree.leaf_outputs[leaves])


def candidate_paths(
    paths: TreePaths, known: FloatArray, known_positions: IntArray, confidences: FloatArray, tolerance: float = 1e-9
) -> BoolArray:
    """(rows, paths): true for the n_r paths that own features and the prediction leave (algorithm 1).

    ``tolerance`` is how far a revealed confidence may be from the leaf's own, where it was rounded.
    """
    return paths.matching(known, known_positions) & paths.with_output(confidences, tolerance)


def log_volumes(paths: TreePaths, unknown_positions: IntArray) -> FloatArray:
    """ln of the share of the unit box of the unknown columns that each path fills; -inf for an empty one."""
    low = np.clip(paths.low[:, unknown_positions], 0.0, 1.0)
    high = np.clip(paths.high[:, unknown_positions], 0.0, 1.0)
    with np.errstate(divide="ignore"):
        result: FloatArray = np.log(np.maximum(high - low, 0.0)).sum(axis=1)
    return result


def log_counts(tree: TreeModel, known: FloatArray, known_positions: IntArray) -> FloatArray:
    """ln of how likely each path is, up to a constant, by the training rows that the tree counted.

    At a node of an unknown column: the share of its rows that turned so. At a node of a known column the row's turn is
    no secret, but it is evidence for the turns above (Bayes' rule): the share that turned so there, over the share of
    all known rows that would. One row is added to either side, so that nothing is ruled out.
    """
    assert tree.counts is not None
    column_of = {int(position): column for column, position in enumerate(known_positions)}
    log = np.zeros(len(tree.left))
    for node in np.flatnonzero(~tree.is_leaf):  # parents come before their children
        left, right = tree.left[node], tree.right[node]
        turned = np.log((tree.counts[[left, right]] + 1.0) / (tree.counts[node] + 2.0))
        column = column_of.get(int(tree.feature[node]))
        if column is not None:
            below = float((known[:, column] <= tree.threshold[node]).sum())
            turned = turned - np.log((np.array([below, len(known) - below]) + 1.0) / (len(known) + 2.0))
        log[[left, right]] = log[node] + turned
    return np.asarray(log[tree.is_leaf])
