"""A feed-forward network with ReLU between dense layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from fedleak.core.arrays import FloatArray, freeze
from fedleak.core.errors import InputError
from fedleak.core.payload import ModelSpec, ScalarValue
from fedleak.models.linear import Link
from fedleak.models.model import FORMAT_VERSION, Model, checked_columns, columns_text

KIND = "network"


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
        scores = self.scores(rows)
        if self.link is Link.SIGMOID:
            return np.hstack([expit(-scores), expit(scores)])
        if self.link is Link.SIGMOID_EACH:
            return np.asarray(expit(scores))
        return np.asarray(softmax(scores, axis=1))

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "link": self.link.value,
            "n_layers": len(self.weights),
        }
        arrays = {f"weights{i}": weight for i, weight in enumerate(self.weights)}
        arrays |= {f"bias{i}": bias for i, bias in enumerate(self.biases)}
        return ModelSpec(KIND, config, arrays)
