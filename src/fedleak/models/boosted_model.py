"""Boosted trees: every tree adds the weight of the leaf that a row ends in to one of the row's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedleak.core.arrays import AnyArray, BoolArray, FloatArray, IntArray, freeze
from fedleak.core.errors import InputError
from fedleak.core.payload import ModelSpec, ScalarValue
from fedleak.models.boosting.losses import Objective, probabilities
from fedleak.models.model import FORMAT_VERSION, Model, checked_columns, columns_text
from fedleak.models.tree_models import NO_CHILD

BOOSTED_KIND = "boosted"
PER_NODE = ("left", "right", "feature", "threshold", "missing_left", "weight")
PER_TREE = ("sizes", "score_of_tree")


@dataclass(frozen=True, eq=False)
class BoostedModel(Model):
    """Nodes of all trees, one tree after the other; numbers of children count within their tree.

    A value at most the threshold goes left, a missing one where ``missing_left`` says.
    """

    columns: tuple[str, ...]
    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    weight: FloatArray  # of the leaves
    sizes: IntArray  # nodes of each tree
    score_of_tree: IntArray  # which score it adds to
    objective: Objective
    n_scores: int = 1
    first_score: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", checked_columns(self.columns, len(self.columns)))
        _check(self)
        for name in (*PER_NODE, *PER_TREE):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @property
    def n_classes(self) -> int:
        return 2 if self.objective is Objective.LOGISTIC else self.n_scores

    @property
    def n_trees(self) -> int:
        return len(self.sizes)

    @property
    def starts(self) -> IntArray:
        """Where each tree's nodes begin."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    def leaves_of(self, rows: FloatArray) -> IntArray:
        """(rows, trees): the number, within its tree, of the leaf that each row ends in."""
        starts = self.starts
        at = np.zeros((len(rows), self.n_trees), dtype=np.int64)
        everyone = np.arange(len(rows))[:, None]
        for _ in range(int(self.sizes.max(initial=1))):  # no path is longer than its tree is large
            place = starts + at
            inner = self.left[place] != NO_CHILD
            if not inner.any():
                break
            values = rows[everyone, np.maximum(self.feature[place], 0)] if rows.shape[1] else np.zeros(place.shape)
            left = np.where(np.isnan(values), self.missing_left[place], values <= self.threshold[place])
            at = np.where(inner, np.where(left, self.left[place], self.right[place]), at)
        return at

    def scores(self, rows: FloatArray) -> FloatArray:
        """(rows, scores). Trees are added one after the other, as in training: the sums are the same to the bit."""
        weights = self.weight[self.starts + self.leaves_of(rows)]
        total = np.full((len(rows), self.n_scores), self.first_score)
        for tree, score in enumerate(self.score_of_tree):
            total[:, score] += weights[:, tree]
        return total

    def confidences(self, rows: FloatArray) -> FloatArray:
        """Of a regression the predicted number."""
        return probabilities(self.objective, self.scores(rows))

    def behind_scaler(self, shift: FloatArray, scale: FloatArray) -> BoostedModel:
        feature = np.maximum(self.feature, 0)
        return replace(self, threshold=self.threshold * scale[feature] + shift[feature])

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "objective": self.objective.value,
            "n_scores": self.n_scores,
            "first_score": self.first_score,
        }
        arrays: dict[str, AnyArray] = {name: getattr(self, name) for name in (*PER_NODE, *PER_TREE)}
        return ModelSpec(BOOSTED_KIND, config, arrays)


def joined_trees(
    columns: Sequence[str],
    trees: Sequence[Mapping[str, AnyArray]],
    score_of_tree: Sequence[int],
    objective: Objective,
    n_scores: int,
) -> BoostedModel:
    """A model of trees that have an array each for what a node has, by its name."""
    of_all = {name: np.concatenate([tree[name] for tree in trees]) for name in PER_NODE}
    return BoostedModel(
        tuple(str(name) for name in columns),
        left=of_all["left"],
        right=of_all["right"],
        feature=of_all["feature"],
        threshold=of_all["threshold"],
        missing_left=of_all["missing_left"],
        weight=of_all["weight"],
        sizes=np.array([len(tree["left"]) for tree in trees], dtype=np.int64),
        score_of_tree=np.array(score_of_tree, dtype=np.int64),
        objective=objective,
        n_scores=n_scores,
    )


def _check(model: BoostedModel) -> None:
    n_nodes = len(model.left)
    lengths = {len(getattr(model, name)) for name in PER_NODE}
    if lengths != {n_nodes} or (model.sizes < 1).any() or int(model.sizes.sum()) != n_nodes:
        raise InputError(f"boosted trees must have the sum of their sizes in every array of nodes; got {lengths}")
    if len(model.score_of_tree) != model.n_trees or not _within(model.score_of_tree, model.n_scores):
        raise InputError(f"every boosted tree must add to one of the {model.n_scores} scores")
    if model.objective is not Objective.SOFTMAX and model.n_scores != 1:
        raise InputError(f"n_scores must be 1 for the objective {model.objective}; got {model.n_scores}")
    inner = model.left != NO_CHILD
    if not _within(model.feature[inner], len(model.columns)):
        raise InputError(f"boosted trees must split on one of their {len(model.columns)} columns")
    _check_children(model, inner)


def _check_children(model: BoostedModel, inner: BoolArray) -> None:
    number = np.arange(len(model.left)) - np.repeat(model.starts, model.sizes)
    size = np.repeat(model.sizes, model.sizes)
    for children in (model.left, model.right):
        if (children[~inner] != NO_CHILD).any():
            raise InputError("a node of a boosted tree must have two children or none")
        if ((children <= number) | (children >= size))[inner].any():
            raise InputError("children of a node of a boosted tree must come after it, in its tree")


def _within(values: IntArray, n: int) -> bool:
    return bool(((values >= 0) & (values < n)).all())
