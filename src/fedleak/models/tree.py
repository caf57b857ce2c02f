"""A decision tree. A value at most the threshold goes left."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray, freeze
from fedleak.core.errors import InputError
from fedleak.core.payload import ModelSpec, ScalarValue
from fedleak.models.model import FORMAT_VERSION, Model, checked_columns, columns_text

KIND = "tree"
NO_CHILD = -1


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

    def __post_init__(self) -> None:
        _check_nodes(self)
        object.__setattr__(self, "columns", checked_columns(self.columns, len(self.columns)))
        for name in ("left", "right", "feature", "threshold", "fractions"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

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

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "output": self.output.value,
        }
        names = ("left", "right", "feature", "threshold", "fractions")
        return ModelSpec(KIND, config, {name: getattr(self, name) for name in names})


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
