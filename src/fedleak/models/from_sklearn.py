"""scikit-learn estimators, read by their fitted attributes; no pickle, nothing is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import InputError, UnreadableModelError
from fedleak.models.affine import behind_scaler
from fedleak.models.forest import ForestModel
from fedleak.models.linear import LinearModel, Link
from fedleak.models.model import Model
from fedleak.models.network import NetworkModel
from fedleak.models.tree import TreeModel, TreeOutput

FITTED_MARK = {
    "LogisticRegression": "coef_",
    "LogisticRegressionCV": "coef_",
    "DecisionTreeClassifier": "tree_",
    "ExtraTreeClassifier": "tree_",
    "RandomForestClassifier": "estimators_",
    "ExtraTreesClassifier": "estimators_",
    "MLPClassifier": "coefs_",
}
SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler")


def from_sklearn(estimator: Any, columns: Sequence[str] | None, output: TreeOutput) -> Model:
    """The fitted estimator, or a Pipeline of scalers that ends in one; UnreadableModelError for any other kind."""
    name = type(estimator).__name__
    if name == "Pipeline":
        return _from_pipeline(estimator, columns, output)
    readers: Mapping[str, Callable[[Any, tuple[str, ...], TreeOutput], Model]] = {
        "LogisticRegression": _logistic,
        "LogisticRegressionCV": _logistic,
        "DecisionTreeClassifier": _tree,
        "ExtraTreeClassifier": _tree,
        "RandomForestClassifier": _forest,
        "ExtraTreesClassifier": _forest,
        "MLPClassifier": _network,
    }
    if name not in readers:
        raise UnreadableModelError(
            f"a scikit-learn model must be one of {', '.join(readers)}, or a Pipeline; got {name}"
        )
    if not hasattr(estimator, FITTED_MARK[name]):
        raise InputError(f"{name} must be fitted; call its fit method first")
    return readers[name](estimator, _names(estimator, columns), output)


def _from_pipeline(pipeline: Any, columns: Sequence[str] | None, output: TreeOutput) -> Model:
    *before, (_, last) = pipeline.steps
    scalers = [step for _, step in before if step not in (None, "passthrough")]
    names = _names(scalers[0], columns) if scalers else columns
    model = from_sklearn(last, names, output)
    for scaler in reversed(scalers):
        model = behind_scaler(model, *_shift_and_scale(scaler, len(model.columns)))
    return model


def _shift_and_scale(scaler: Any, width: int) -> tuple[FloatArray, FloatArray]:
    """(x - shift) / scale is what the scaler does."""
    name = type(scaler).__name__
    if name not in SCALERS:
        raise UnreadableModelError(
            f"a Pipeline's steps before the model must be among {', '.join(SCALERS)}; got {name}"
        )
    if not hasattr(scaler, "n_features_in_"):
        raise InputError(f"{name} must be fitted; call the Pipeline's fit method first")
    if name == "MinMaxScaler":
        if scaler.clip:
            raise UnreadableModelError("a MinMaxScaler must have clip=False to be folded into the model")
        return -scaler.min_ / scaler.scale_, 1.0 / scaler.scale_
    shift = getattr(scaler, "mean_", None)
    scale = scaler.scale_
    return (
        np.zeros(width) if shift is None else np.asarray(shift, dtype=np.float64),
        np.ones(width) if scale is None else np.asarray(scale, dtype=np.float64),
    )


def _names(estimator: Any, columns: Sequence[str] | None) -> tuple[str, ...]:
    if columns is not None:
        return tuple(str(name) for name in columns)
    known: Sequence[str] = getattr(estimator, "feature_names_in_", ())
    return tuple(str(name) for name in known) or tuple(f"x{i}" for i in range(int(estimator.n_features_in_)))


def _logistic(estimator: Any, columns: tuple[str, ...], _: TreeOutput) -> LinearModel:
    n_outputs = len(estimator.coef_)
    if n_outputs > 1 and getattr(estimator, "multi_class", "multinomial") == "ovr":
        raise UnreadableModelError(
            "a multi-class LogisticRegression must be multinomial; got one fitted one-versus-rest"
        )
    link = Link.SIGMOID if n_outputs == 1 else Link.SOFTMAX
    bias = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), (n_outputs,))
    return LinearModel(columns, np.asarray(estimator.coef_, dtype=np.float64), bias.copy(), link)


def _tree(estimator: Any, columns: tuple[str, ...], output: TreeOutput) -> TreeModel:
    if estimator.n_outputs_ != 1:
        raise UnreadableModelError(f"a tree must have one target; got {estimator.n_outputs_}")
    nodes = estimator.tree_
    counts = np.asarray(nodes.value[:, 0, :], dtype=np.float64)
    fractions = counts / counts.sum(axis=1, keepdims=True)
    if output is TreeOutput.ONE_HOT:  # the paper's tree holds labels alone: how training rows spread stays unknown
        fractions = np.eye(fractions.shape[1])[np.argmax(fractions, axis=1)]
    return TreeModel(
        columns,
        nodes.children_left.astype(np.int64),
        nodes.children_right.astype(np.int64),
        np.maximum(nodes.feature.astype(np.int64), -1),
        nodes.threshold.astype(np.float64),
        fractions,
        output,
    )


def _forest(estimator: Any, columns: tuple[str, ...], output: TreeOutput) -> ForestModel:
    return ForestModel(columns, tuple(_tree(tree, columns, output) for tree in estimator.estimators_))


def _network(estimator: Any, columns: tuple[str, ...], _: TreeOutput) -> NetworkModel:
    if estimator.activation not in ("relu", "identity"):
        raise UnreadableModelError(f"an MLPClassifier must have activation='relu'; got {estimator.activation!r}")
    if estimator.activation == "identity" and len(estimator.coefs_) > 1:
        raise UnreadableModelError("an MLPClassifier with hidden layers must have activation='relu'; got 'identity'")
    links = {"logistic": Link.SIGMOID, "softmax": Link.SOFTMAX}
    link = links[estimator.out_activation_]
    if link is Link.SIGMOID and len(estimator.intercepts_[-1]) > 1:
        link = Link.SIGMOID_EACH
    weights = tuple(np.asarray(layer.T, dtype=np.float64) for layer in estimator.coefs_)
    return NetworkModel(columns, weights, tuple(np.asarray(b, dtype=np.float64) for b in estimator.intercepts_), link)
