"""A random forest: many trees, one vote each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import InputError
from fedleak.core.payload import ModelSpec, ScalarValue
from fedleak.models.model import FORMAT_VERSION, Model, checked_columns, columns_text
from fedleak.models.tree import NO_CHILD, TreeModel, TreeOutput

KIND = "forest"
PER_NODE = ("left", "right", "feature", "threshold", "fractions")


@dataclass(frozen=True, eq=False)
class ForestModel(Model):
    """Confidences are the mean of the trees': vote fractions where the trees are one-hot (Luo et al. 2021, II-A)."""

    columns: tuple[str, ...]
    trees: tuple[TreeModel, ...]

    def __post_init__(self) -> None:
        if not self.trees:
            raise InputError("a forest must have at least one tree; got none")
        if len({(tree.n_classes, tree.output) for tree in self.trees}) != 1:
            raise InputError("a forest's trees must have the same classes and the same kind of output")
        if any(tree.columns != self.columns for tree in self.trees):
            raise InputError("a forest's trees must have the forest's columns")
        object.__setattr__(self, "columns", checked_columns(self.columns, len(self.columns)))
        object.__setattr__(self, "_stacked", _stack(self.trees))

    @property
    def n_classes(self) -> int:
        return self.trees[0].n_classes

    @property
    def output(self) -> TreeOutput:
        return self.trees[0].output

    @property
    def stacked(self) -> StackedTrees:
        found: StackedTrees = self.__dict__["_stacked"]
        return found

    def confidences(self, rows: FloatArray) -> FloatArray:
        return self.stacked.mean_output(rows)

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "output": self.output.value,
        }
        arrays = {name: np.concatenate([getattr(tree, name) for tree in self.trees]) for name in PER_NODE}
        sizes = np.array([len(tree.left) for tree in self.trees], dtype=np.int64)
        return ModelSpec(KIND, config, {**arrays, "sizes": sizes})


@dataclass(frozen=True, eq=False)
class StackedTrees:
    """All trees' nodes in one list, so that a step down is one gather for all trees and rows."""

    roots: IntArray  # (trees,)
    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    outputs: FloatArray  # (nodes, classes)
    depth: int

    def leaves_of(self, rows: FloatArray) -> IntArray:
        """Node numbers, (rows, trees). A leaf is its own child, so no mask is needed."""
        at = np.broadcast_to(self.roots, (len(rows), len(self.roots))).copy()
        base = (np.arange(len(rows)) * rows.shape[1])[:, None]
        flat = np.ascontiguousarray(rows).ravel()
        for _ in range(self.depth):
            goes_left = flat[base + self.feature[at]] <= self.threshold[at]
            at = np.where(goes_left, self.left[at], self.right[at])
        return at

    def mean_output(self, rows: FloatArray, chunk: int = 8192) -> FloatArray:
        total = np.empty((len(rows), self.outputs.shape[1]))
        for start in range(0, len(rows), chunk):
            leaves = self.leaves_of(rows[start : start + chunk])
            total[start : start + chunk] = self.outputs[leaves].mean(axis=1)
        return total


def _stack(trees: Sequence[TreeModel]) -> StackedTrees:
    sizes = [len(tree.left) for tree in trees]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    numbers = np.arange(sum(sizes))

    def children(name: str) -> IntArray:
        moved = [
            np.where(getattr(tree, name) == NO_CHILD, NO_CHILD, getattr(tree, name) + start)
            for tree, start in zip(trees, starts, strict=True)
        ]
        joined = np.concatenate(moved)
        result: IntArray = np.where(joined == NO_CHILD, numbers, joined)
        return result

    return StackedTrees(
        roots=starts,
        left=children("left"),
        right=children("right"),
        feature=np.maximum(np.concatenate([tree.feature for tree in trees]), 0),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        outputs=np.concatenate([tree.leaf_outputs for tree in trees]),
        depth=max(tree.depth for tree in trees),
    )
