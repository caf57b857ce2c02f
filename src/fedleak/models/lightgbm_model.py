"""Trees of LightGBM, from the text that it saves: nothing is unpickled, and LightGBM is not needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedleak.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from fedleak.core.errors import FileFormatError, InputError, UnreadableModelError
from fedleak.models.boosted_model import BoostedModel, joined_trees
from fedleak.models.boosting.losses import Objective
from fedleak.models.tree_models import NO_CHILD

FIRST_LINE = b"tree\n"
# Bits of decision_type: categories, where missing cells go, and what counts as missing.
CATEGORIES, DEFAULT_LEFT, MISSING_KIND = 1, 2, 12
ZERO_IS_MISSING, NAN_IS_MISSING = 4, 8


def from_lightgbm(data: bytes, columns: Sequence[str] | None = None) -> BoostedModel:
    """The bytes of ``save_model``; UnreadableModelError for what is valid and not of our kinds."""
    try:
        head, *trees = [_section(part) for part in data.decode("utf-8").split("\nend of trees")[0].split("\nTree=")]
        return _read(head, trees, columns)
    except (KeyError, IndexError, ValueError, OverflowError) as error:
        raise FileFormatError(
            f"a LightGBM model must have its usual keys; got {type(error).__name__}: {error}"
        ) from error


def _section(text: str) -> dict[str, str]:
    """A word that stands alone, such as average_output, has an empty value."""
    lines = (line.partition("=") for line in text.replace("\r", "").split("\n"))
    return {key: value for key, _, value in lines}


def _read(head: Mapping[str, str], trees: Sequence[Mapping[str, str]], columns: Sequence[str] | None) -> BoostedModel:
    objective = _objective(head)
    n_scores = int(head["num_class"]) if objective is Objective.SOFTMAX else 1
    if int(head["num_tree_per_iteration"]) != n_scores or not trees:
        raise UnreadableModelError("a LightGBM model must have trees, one a round and class; it has others")
    if "average_output" in head:
        raise UnreadableModelError("a LightGBM model must be boosted; got a random forest, whose trees are averaged")
    parts = [_tree(tree) for tree in trees]
    names = list(columns or head["feature_names"].split(" "))
    width = int(head["max_feature_idx"]) + 1
    if len(names) != width:
        raise InputError(f"columns must name the {width} inputs of the LightGBM model; got {len(names)}")
    return joined_trees(names, parts, [number % n_scores for number in range(len(parts))], objective, n_scores)


def _objective(head: Mapping[str, str]) -> Objective:
    name, *details = head["objective"].split(" ")
    found = {"binary": Objective.LOGISTIC, "multiclass": Objective.SOFTMAX}.get(name)
    steep = [part for part in details if part.startswith("sigmoid:") and float(part.partition(":")[2]) != 1.0]
    if found is None or steep:
        raise UnreadableModelError(
            f"a LightGBM model must be binary with sigmoid:1 or multiclass; got {head['objective']}"
        )
    return found


def _tree(tree: Mapping[str, str]) -> dict[str, AnyArray]:
    """LightGBM counts splits and leaves apart, leaf k as -k - 1; here splits come first, then leaves."""
    if int(tree["num_cat"]) or tree.get("is_linear", "0") != "0":
        raise UnreadableModelError("a LightGBM tree must split on numbers and have a number a leaf; it has others")
    weights, n_splits = _floats(tree["leaf_value"]), int(tree["num_leaves"]) - 1
    split = {name: _floats(tree[name]) if n_splits else np.zeros(0) for name in SPLITS}
    kind = split["decision_type"].astype(np.int64)
    if (kind & CATEGORIES).any() or ((kind & MISSING_KIND) == ZERO_IS_MISSING).any():
        raise UnreadableModelError("a LightGBM tree must not split on categories nor take zeros as missing; it does")
    children = {name: _child(split[name].astype(np.int64), n_splits) for name in ("left_child", "right_child")}
    leaves, nothing = np.full(len(weights), NO_CHILD), np.zeros(len(weights))
    return {
        "left": np.concatenate([children["left_child"], leaves]),
        "right": np.concatenate([children["right_child"], leaves]),
        "feature": np.concatenate([split["split_feature"].astype(np.int64), leaves]),
        "threshold": np.concatenate([split["threshold"], nothing]),
        "missing_left": np.concatenate([_missing_left(kind, split["threshold"]), nothing.astype(bool)]),
        "weight": np.concatenate([np.zeros(n_splits), weights]),
    }


SPLITS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")


def _child(numbers: IntArray, n_splits: int) -> IntArray:
    return np.where(numbers >= 0, numbers, n_splits - numbers - 1)


def _missing_left(kind: IntArray, threshold: FloatArray) -> BoolArray:
    """Where training saw no missing cell, LightGBM takes one for a zero."""
    known = (kind & MISSING_KIND) == NAN_IS_MISSING
    return np.asarray(np.where(known, (kind & DEFAULT_LEFT) > 0, threshold >= 0.0))


def _floats(text: str) -> FloatArray:
    return np.array([float(part) for part in text.split(" ")])
