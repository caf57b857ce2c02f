"""Fitted models of scikit-learn and torch, read by their parameters: no pickle, nothing is run.

Of torch a Sequential of Linear and ReLU layers, with dropout, which does nothing at prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import InputError, UnreadableModelError
from fedleak.models.model import Model
from fedleak.models.score_models import LinearModel, Link, NetworkModel
from fedleak.models.tree_models import ForestModel, TreeModel, TreeOutput

FITTED_MARK = {
    "LogisticRegression": "coef_",
    "LogisticRegressionCV": "coef_",
    "DecisionTreeClassifier": "tree_",
    "ExtraTreeClassifier": "tree_",
    "RandomForestClassifier": "estimators_",
    "ExtraTreesClassifier": "estimators_",
    "MLPClassifier": "coefs_",
}
READABLE_SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler")


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
    return readers[name](estimator, _fitted_names(estimator, columns), output)


def _from_pipeline(pipeline: Any, columns: Sequence[str] | None, output: TreeOutput) -> Model:
    *before, (_, last) = pipeline.steps
    scalers = [step for _, step in before if step not in (None, "passthrough")]
    names = _fitted_names(scalers[0], columns) if scalers else columns
    model = from_sklearn(last, names, output)
    for scaler in reversed(scalers):
        model = model.behind_scaler(*_shift_and_scale(scaler, len(model.columns)))
    return model


def _shift_and_scale(scaler: Any, width: int) -> tuple[FloatArray, FloatArray]:
    """(x - shift) / scale is what the scaler does."""
    name = type(scaler).__name__
    if name not in READABLE_SCALERS:
        raise UnreadableModelError(
            f"a Pipeline's steps before the model must be among {', '.join(READABLE_SCALERS)}; got {name}"
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


def _fitted_names(estimator: Any, columns: Sequence[str] | None) -> tuple[str, ...]:
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
    if output is TreeOutput.ONE_HOT:  # the paper's leaf holds a label alone: how classes mix there stays unknown
        fractions = np.eye(fractions.shape[1])[np.argmax(fractions, axis=1)]
    return TreeModel(
        columns,
        nodes.children_left.astype(np.int64),
        nodes.children_right.astype(np.int64),
        np.maximum(nodes.feature.astype(np.int64), -1),
        nodes.threshold.astype(np.float64),
        fractions,
        output,
        nodes.n_node_samples.astype(np.int64),
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


READABLE_LAYERS = "Linear, ReLU, Dropout, Identity, Flatten, and Softmax or Sigmoid at the end"


def from_torch(module: Any, columns: Sequence[str] | None) -> Model:
    """The module's own confidences; without a final Softmax or Sigmoid its outputs are taken as logits."""
    layers = list(flat_layers(module))
    link_layer = type(layers[-1]).__name__ if layers else ""
    weights: list[FloatArray] = []
    biases: list[FloatArray] = []
    after_relu = True
    for layer in layers[:-1] if link_layer in ("Softmax", "Sigmoid") else layers:
        name = type(layer).__name__
        if name == "Linear":
            if not after_relu:
                raise UnreadableModelError("a torch model must have a ReLU between two Linear layers; it has none")
            weight = layer.weight.detach().cpu().double().numpy()
            weights.append(weight.copy())
            biases.append(np.zeros(len(weight)) if layer.bias is None else layer.bias.detach().cpu().double().numpy())
            after_relu = False
        elif name == "ReLU" and weights and not after_relu:
            after_relu = True
        elif name not in ("Dropout", "Identity", "Flatten"):
            raise UnreadableModelError(f"a torch model must be a Sequential of {READABLE_LAYERS}; got {name}")
    if not weights or after_relu:
        raise UnreadableModelError("a torch model must end in a Linear layer, or one with Softmax or Sigmoid after it")
    link = _link_of(link_layer, len(weights[-1]))
    names = tuple(columns) if columns is not None else tuple(f"x{i}" for i in range(weights[0].shape[1]))
    if len(weights) == 1:
        return LinearModel(names, weights[0], biases[0], link)
    return NetworkModel(names, tuple(weights), tuple(biases), link)


def flat_layers(module: Any) -> Iterator[Any]:
    if type(module).__name__ != "Sequential":
        yield module
        return
    for child in module:
        yield from flat_layers(child)


def _link_of(last: str, n_outputs: int) -> Link:
    if n_outputs == 1:
        return Link.SIGMOID
    return Link.SIGMOID_EACH if last == "Sigmoid" else Link.SOFTMAX
