"""A decision tree, in which a value at most the threshold goes left, and a random forest: many trees, one vote each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from fedleak.core.arrays import AnyArray, BoolArray, FloatArray, IntArray, freeze
from fedleak.core.errors import InputError
from fedleak.core.payload import ModelSpec, ScalarValue
from fedleak.models.model import FORMAT_VERSION, Model, checked_columns, columns_text

TREE_KIND = "tree"
NO_CHILD = -1
PER_NODE = ("left", "right", "feature", "threshold", "fractions")
COUNTS = "counts"  # stored where a tree has them


class TreeOutput(StrEnum):
    """Which confidences a leaf gives. Luo et al. 2021 have one-hot; scikit-learn serves fractions."""

    ONE_HOT = "one-hot"
    FRACTIONS = "fractions"


@dataclass(frozen=True, eq=False)
class TreeModel(Model):
    """Nodes by number, the root is 0, children come after their parent; a leaf has no children."""

    columns: tuple[str, ...]
    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    fractions: FloatArray  # (nodes, classes): the training rows' classes at the node
    output: TreeOutput = TreeOutput.ONE_HOT
    counts: IntArray | None = None  # training rows that came to each node, where the library keeps them

    def __post_init__(self) -> None:
        _check_nodes(self)
        object.__setattr__(self, "columns", checked_columns(self.columns, len(self.columns)))
        for name in PER_NODE:
            object.__setattr__(self, name, freeze(getattr(self, name)))
        if self.counts is not None:
            _check_counts(self, self.counts)
            object.__setattr__(self, COUNTS, freeze(self.counts))

    @property
    def n_classes(self) -> int:
        return int(self.fractions.shape[1])

    @property
    def is_leaf(self) -> BoolArray:
        result: BoolArray = self.left == NO_CHILD
        return result

    @property
    def depth(self) -> int:
        level = np.zeros(len(self.left), dtype=np.int64)
        for node in np.flatnonzero(~self.is_leaf):  # parents come before their children
            level[[self.left[node], self.right[node]]] = level[node] + 1
        return int(level.max())

    @property
    def leaf_outputs(self) -> FloatArray:
        """The confidences that each node would give if it were reached last."""
        if self.output is TreeOutput.FRACTIONS:
            return self.fractions
        return np.asarray(np.eye(self.n_classes)[np.argmax(self.fractions, axis=1)], dtype=np.float64)

    def leaves_of(self, rows: FloatArray) -> IntArray:
        at = np.zeros(len(rows), dtype=np.int64)
        everyone = np.arange(len(rows))
        for _ in range(self.depth):
            inner = self.left[at] != NO_CHILD
            goes_left = rows[everyone, self.feature[at]] <= self.threshold[at]
            at = np.where(inner, np.where(goes_left, self.left[at], self.right[at]), at)
        return at

    def confidences(self, rows: FloatArray) -> FloatArray:
        return self.leaf_outputs[self.leaves_of(rows)]

    def behind_scaler(self, shift: FloatArray, scale: FloatArray) -> TreeModel:
        feature = np.maximum(self.feature, 0)
        return replace(self, threshold=self.threshold * scale[feature] + shift[feature])

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "output": self.output.value,
        }
        return ModelSpec(TREE_KIND, config, _node_arrays((self,)))


def _node_arrays(trees: Sequence[TreeModel]) -> dict[str, AnyArray]:
    """Of all nodes, a tree after the other; counts where every tree has them."""
    names = (*PER_NODE, COUNTS) if all(tree.counts is not None for tree in trees) else PER_NODE
    return {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in names}


def _check_nodes(tree: TreeModel) -> None:
    n_nodes = len(tree.left)
    lengths = {len(tree.right), len(tree.feature), len(tree.threshold), len(tree.fractions), n_nodes}
    if n_nodes < 1 or len(lengths) != 1 or tree.fractions.ndim != 2:
        raise InputError(
            f"a tree must have the same number of nodes in every array, one or more; got {sorted(lengths)}"
        )
    inner = tree.left != NO_CHILD
    numbers = np.arange(n_nodes)
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    parents = np.concatenate([numbers[inner], numbers[inner]])
    if (tree.right[~inner] != NO_CHILD).any() or (children <= parents).any() or (children >= n_nodes).any():
        raise InputError("a tree's nodes must have two children that come after them, or none")
    if len(np.unique(children)) != n_nodes - 1:
        raise InputError("every node of a tree but the root must be the child of one other")
    used = tree.feature[inner]
    if ((used < 0) | (used >= len(tree.columns))).any():
        raise InputError(f"a tree must split on one of its {len(tree.columns)} columns; got {used.tolist()}")


def _check_counts(tree: TreeModel, counts: IntArray) -> None:
    if counts.shape != tree.left.shape or (counts < 0).any():
        raise InputError(f"a tree's counts must be one a node, 0 or more; got shape {counts.shape}")
    inner = ~tree.is_leaf
    if (counts[inner] != counts[tree.left[inner]] + counts[tree.right[inner]]).any():
        raise InputError("the counts of a node's two children must add up to its own; leave counts out if unknown")


FOREST_KIND = "forest"


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
        object.__setattr__(self, "_stacked", _stacked_trees(self.trees))

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

    def behind_scaler(self, shift: FloatArray, scale: FloatArray) -> ForestModel:
        return replace(self, trees=tuple(tree.behind_scaler(shift, scale) for tree in self.trees))

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "output": self.output.value,
        }
        sizes = np.array([len(tree.left) for tree in self.trees], dtype=np.int64)
        return ModelSpec(FOREST_KIND, config, {**_node_arrays(self.trees), "sizes": sizes})


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


def _stacked_trees(trees: Sequence[TreeModel]) -> StackedTrees:
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
