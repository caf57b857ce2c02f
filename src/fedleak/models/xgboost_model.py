"""Trees of XGBoost, from its own files (JSON or UBJSON): nothing is unpickled, and XGBoost is not needed.

XGBoost compares in single precision and sends what is below a threshold left; thresholds are moved to the number in
double precision that divides the same inputs. Its sums are of single precision too: confidences agree to about 1e-6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import FileFormatError, InputError, UnreadableModelError
from fedleak.models.boosted_model import BoostedModel, joined_trees
from fedleak.models.boosting.losses import Objective
from fedleak.models.tree_models import NO_CHILD
from fedleak.schema import strict_json
from fedleak.schema.strict_json import Malformed
from fedleak.storage import ubjson

OBJECTIVES = {
    "binary:logistic": Objective.LOGISTIC,
    "multi:softprob": Objective.SOFTMAX,
    "multi:softmax": Objective.SOFTMAX,
}


def from_booster(model: Any, columns: Sequence[str] | None = None) -> BoostedModel:
    """A fitted XGBClassifier or Booster."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not hasattr(booster, "save_raw"):
        raise UnreadableModelError(f"an XGBoost model must be a classifier or a Booster; got {type(model).__name__}")
    return from_xgboost(bytes(booster.save_raw("ubj")), columns)


def from_xgboost(data: bytes, columns: Sequence[str] | None = None) -> BoostedModel:
    """The bytes of ``save_model`` or ``save_raw``; UnreadableModelError for what is valid and not of our kinds."""
    learner = _parsed(data)
    try:
        return _read(learner, columns)
    except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
        raise FileFormatError(
            f"an XGBoost model must have its usual keys; got {type(error).__name__}: {error}"
        ) from error


def _parsed(data: bytes) -> Mapping[str, Any]:
    try:
        found = strict_json.parse(data) if data[1:2] in b'"\n \r\t' else ubjson.documents(data)[0]
        learner = found.get("learner") if isinstance(found, dict) else None
    except (Malformed, FileFormatError, IndexError) as error:
        raise FileFormatError(f"an XGBoost model must be its JSON or UBJSON; got: {error}") from error
    if not isinstance(learner, dict):
        raise FileFormatError("an XGBoost model must have a learner; it has none")
    return learner


def _read(learner: Mapping[str, Any], columns: Sequence[str] | None) -> BoostedModel:
    name, booster = learner["objective"]["name"], learner["gradient_booster"]
    if name not in OBJECTIVES or booster["name"] != "gbtree":
        raise UnreadableModelError(
            f"an XGBoost model must be gbtree with {', '.join(OBJECTIVES)}; got {booster['name']} with {name}"
        )
    objective, parameters = OBJECTIVES[name], learner["learner_model_param"]
    n_scores = int(parameters["num_class"]) if objective is Objective.SOFTMAX else 1
    start = _start(str(parameters["base_score"]), objective, n_scores)
    trees, score_of_tree = _chosen_trees(learner, booster["model"])
    parts = [_constant(value) for value in start] + [_tree(tree) for tree in trees]
    names = _names(learner, int(parameters["num_feature"]), columns)
    return joined_trees(names, parts, [*range(n_scores), *score_of_tree], objective, n_scores)


def _chosen_trees(learner: Mapping[str, Any], model: Mapping[str, Any]) -> tuple[list[Any], list[int]]:
    """All of them, or those up to the round at which early stopping found the best, as XGBoost's classifier uses."""
    trees, score_of_tree = list(model["trees"]), [int(score) for score in model["tree_info"]]
    best = learner.get("attributes", {}).get("best_iteration")
    end = len(trees) if best is None else int(model["iteration_indptr"][int(best) + 1])
    return trees[:end], score_of_tree[:end]


def _names(learner: Mapping[str, Any], width: int, columns: Sequence[str] | None) -> tuple[str, ...]:
    known = columns or learner.get("feature_names") or [f"x{i}" for i in range(width)]
    if len(known) != width:
        raise InputError(f"columns must name the {width} inputs of the XGBoost model; got {len(known)}")
    return tuple(str(name) for name in known)


def _start(text: str, objective: Objective, n_scores: int) -> FloatArray:
    """The score before any tree: a probability where there are two classes, scores otherwise."""
    values = np.array([float(part) for part in text.strip("[]").split(",")])
    values = np.broadcast_to(values, (n_scores,))
    return np.log(values / (1.0 - values)) if objective is Objective.LOGISTIC else values


def _constant(value: float) -> dict[str, AnyArray]:
    """A tree of one leaf."""
    none = np.array([NO_CHILD], dtype=np.int64)
    nothing = np.zeros(1)
    return {
        "left": none,
        "right": none,
        "feature": none,
        "threshold": nothing,
        "missing_left": np.zeros(1, dtype=bool),
        "weight": np.array([float(value)]),
    }


def _tree(tree: Mapping[str, Any]) -> dict[str, AnyArray]:
    if any(tree.get("split_type", ())) or int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise UnreadableModelError("an XGBoost tree must split on numbers and have one weight a leaf; it has others")
    left = np.array(tree["left_children"], dtype=np.int64)
    inner = left != NO_CHILD
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    return {
        "left": left,
        "right": np.array(tree["right_children"], dtype=np.int64),
        "feature": np.where(inner, np.array(tree["split_indices"], dtype=np.int64), NO_CHILD),
        "threshold": np.where(inner, last_below(conditions), 0.0),
        "missing_left": np.array(tree["default_left"]).astype(bool),
        "weight": np.where(inner, 0.0, conditions.astype(np.float64)),
    }


def last_below(conditions: AnyArray) -> FloatArray:
    """The largest number in double precision that, rounded to single precision, is below the condition."""
    below = np.nextafter(conditions, np.float32(-np.inf))
    middle = (below.astype(np.float64) + conditions.astype(np.float64)) / 2
    return np.where(middle.astype(np.float32) < conditions, middle, np.nextafter(middle, -np.inf))
