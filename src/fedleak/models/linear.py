"""Logistic regression, binary and multi-class."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import expit, log_softmax

from fedleak.core.arrays import FloatArray, freeze
from fedleak.core.errors import InputError
from fedleak.core.payload import ModelSpec, ScalarValue
from fedleak.models.model import FORMAT_VERSION, Model, checked_columns, columns_text

KIND = "linear"


class Link(StrEnum):
    SOFTMAX = "softmax"  # confidences of all classes from one softmax (eq. 5 of Luo et al. 2021)
    SIGMOID = "sigmoid"  # two classes, one score: v = sigmoid(score) for the second (eq. 3)
    SIGMOID_EACH = "sigmoid-each"  # a score of its own for each class; confidences do not sum to one


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
        scores = self.scores(rows)
        if self.link is Link.SIGMOID:
            # Both by sigmoid: 1 - v would round the small one away.
            return np.hstack([expit(-scores), expit(scores)])
        if self.link is Link.SIGMOID_EACH:
            return np.asarray(expit(scores))
        return np.asarray(np.exp(log_softmax(scores, axis=1)))

    def to_spec(self) -> ModelSpec:
        config: dict[str, ScalarValue] = {
            "version": FORMAT_VERSION,
            "columns": columns_text(self.columns),
            "link": self.link.value,
        }
        return ModelSpec(KIND, config, {"weights": self.weights, "bias": self.bias})
