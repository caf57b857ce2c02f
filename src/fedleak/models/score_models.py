"""Models whose confidences are a link of scores: logistic regression, and networks with ReLU between dense layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from fedleak.core.arrays import FloatArray, freeze
from fedleak.core.errors import InputError
from fedleak.core.payload import ModelSpec, ScalarValue
from fedleak.models.model import FORMAT_VERSION, Model, checked_columns, columns_text

LINEAR_KIND = "linear"


class Link(StrEnum):
    SOFTMAX = "softmax"  # confidences of all classes from one softmax (eq. 5 of Luo et al. 2021)
    SIGMOID = "sigmoid"  # two classes, one score: v = sigmoid(score) for the second (eq. 3)
    SIGMOID_EACH = "sigmoid-each"  # a score of its own for each class; confidences do not sum to one


def _linked(scores: FloatArray, link: Link, softmax: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Confidences from scores; a model brings its own softmax, which another way of computing would round otherwise."""
    from scipy.special import expit

    if link is Link.SIGMOID:
        # Both by sigmoid: 1 - v would round the small one away.
        return np.hstack([expit(-scores), expit(scores)])
    return np.asarray(expit(scores) if link is Link.SIGMOID_EACH else softmax(scores))


@dataclass(frozen=True, eq=False)
class LinearModel(Model):
    columns: tuple[str, ...]
    weights: FloatArray  # (outputs, inputs)
    bias: FloatArray  # (outputs,)
    link: Link = Link.SOFTMAX

    def __post_init__(self) -> None:
        if self.weights.ndim != 2 or self.bias.shape != self.weights.shape[:1]:
            raise InputError(
                f"weights must be (outputs, inputs) with a bias an output; got {self.weights.shape}, {self.bias.shape}"
            )
        if not (np.isfinite(self.weights).all() and np.isfinite(self.bias).all()):
            raise InputError("weights and bias must be finite; got NaN or infinity")
        fewest = 1 if self.link is Link.SIGMOID else 2
        if len(self.weights) < fewest or (self.link is Link.SIGMOID and len(self.weights) != 1):
            raise InputError(f"a {self.link.value} model must have {fewest} output(s); got {len(self.weights)}")
        object.__setattr__(self, "columns", checked_columns(self.columns, self.weights.shape[1]))
        object.__setattr__(self, "weights", freeze(self.weights))
        object.__setattr__(self, "bias", freeze(self.bias))

    @property
    def n_classes(self) -> int:
        return 2 if self.link is Link.SIGMOID else len(self.weights)

    def scores(self, rows: FloatArray) -> FloatArray:
        result: FloatArray = rows @ self.weights.T + self.bias
        return result

    def confidences(self, rows: FloatArray) -> FloatArray:
        from scipy.special import log_softmax

        return _linked(self.scores(rows), self.link, lambda scores: np.exp(log_softmax(scores, axis=1)))

    def behind_scaler(self, shift: FloatArray, scale: FloatArray) -> LinearModel:
        weights = self.weights / scale
        return replace(self, weights=weights, bias=self.bias - weights @ shift)

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "link": self.link.value,
        }
        return ModelSpec(LINEAR_KIND, config, {"weights": self.weights, "bias": self.bias})


NETWORK_KIND = "network"


@dataclass(frozen=True, eq=False)
class NetworkModel(Model):
    """``weights[i]`` is (outputs, inputs) of layer i; the last layer's scores go through the link."""

    columns: tuple[str, ...]
    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    link: Link = Link.SOFTMAX

    def __post_init__(self) -> None:
        if not self.weights or len(self.weights) != len(self.biases):
            raise InputError(f"a network must have a bias a layer; got {len(self.weights)} and {len(self.biases)}")
        width = len(self.columns)
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
                raise InputError(f"layer {number} must take {width} inputs; got {weight.shape} and bias {bias.shape}")
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise InputError(f"layer {number} must hold finite numbers; got NaN or infinity")
            width = len(weight)
        if (self.link is Link.SIGMOID) != (width == 1):
            raise InputError(f"a network must have one output with a sigmoid link, more otherwise; got {width}")
        object.__setattr__(self, "columns", checked_columns(self.columns, self.weights[0].shape[1]))
        object.__setattr__(self, "weights", tuple(freeze(weight) for weight in self.weights))
        object.__setattr__(self, "biases", tuple(freeze(bias) for bias in self.biases))

    @property
    def n_classes(self) -> int:
        return 2 if self.link is Link.SIGMOID else len(self.weights[-1])

    def scores(self, rows: FloatArray) -> FloatArray:
        hidden = rows
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.maximum(hidden @ weight.T + bias, 0.0)
        result: FloatArray = hidden @ self.weights[-1].T + self.biases[-1]
        return result

    def confidences(self, rows: FloatArray) -> FloatArray:
        from scipy.special import softmax

        return _linked(self.scores(rows), self.link, lambda scores: softmax(scores, axis=1))

    def behind_scaler(self, shift: FloatArray, scale: FloatArray) -> NetworkModel:
        first = self.weights[0] / scale
        biases = (self.biases[0] - first @ shift, *self.biases[1:])
        return replace(self, weights=(first, *self.weights[1:]), biases=biases)

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "link": self.link.value,
            "n_layers": len(self.weights),
        }
        arrays = {f"weights{i}": weight for i, weight in enumerate(self.weights)}
        arrays |= {f"bias{i}": bias for i, bias in enumerate(self.biases)}
        return ModelSpec(NETWORK_KIND, config, arrays)
