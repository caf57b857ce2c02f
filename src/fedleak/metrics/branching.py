"""Correct branching rate (Luo et al. 2021, section VI-A): at how many nodes a guess takes the true branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.forest import ForestModel
from fedleak.models.tree import TreeModel


@dataclass(frozen=True)
class Branching:
    """Counts are pooled over rows, trees and trials; only nodes of the target's columns count."""

    n_correct: int
    n_compared: int

    @property
    def rate(self) -> float | None:
        """None where no node was compared: such a trial has no rate, and is not a zero."""
        return self.n_correct / self.n_compared if self.n_compared else None

    def __add__(self, other: Branching) -> Branching:
        return Branching(self.n_correct + other.n_correct, self.n_compared + other.n_compared)


def branching(
    model: TreeModel | ForestModel, along: FloatArray, against: FloatArray, target: Sequence[int] | IntArray
) -> Branching:
    """Follow each row of ``along`` down every tree; at nodes of target columns compare its turn with ``against``'s.

    For path restriction ``along`` is the guess (its chosen path), for a guess of values on a forest it is the truth.
    """
    correct, compared = branch_counts(model, along, against, target)
    return Branching(int(correct.sum()), int(compared.sum()))


def branch_counts(
    model: TreeModel | ForestModel, along: FloatArray, against: FloatArray, target: Sequence[int] | IntArray
) -> tuple[IntArray, IntArray]:
    """For each row: the turns that agree, and those that were compared."""
    trees = model.trees if isinstance(model, ForestModel) else (model,)
    is_target = np.zeros(len(model.columns), dtype=bool)
    is_target[np.asarray(target, dtype=np.int64)] = True
    correct, compared = np.zeros(len(along), dtype=np.int64), np.zeros(len(along), dtype=np.int64)
    for tree in trees:
        _add_tree(tree, along, against, is_target, correct, compared)
    return correct, compared


def _add_tree(
    tree: TreeModel,
    along: FloatArray,
    against: FloatArray,
    is_target: np.ndarray,
    correct: IntArray,
    compared: IntArray,
) -> None:
    at = np.zeros(len(along), dtype=np.int64)
    everyone = np.arange(len(along))
    for _ in range(tree.depth):
        inner = ~tree.is_leaf[at]
        feature, threshold = tree.feature[at], tree.threshold[at]
        turn = along[everyone, feature] <= threshold
        counts = inner & is_target[feature]
        compared += counts
        correct += counts & (turn == (against[everyone, feature] <= threshold))
        at = np.where(inner, np.where(turn, tree.left[at], tree.right[at]), at)
