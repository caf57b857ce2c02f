"""How good a trained model is, each figure beside that of a guess that looks at no column.

Always saying the majority class is right as often as that class is frequent; balanced accuracy, each class weighing
the same, gives it 1 in as many as there are classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray


@dataclass(frozen=True)
class Usefulness:
    figures: Mapping[str, float] = field(default_factory=dict)
    baselines: Mapping[str, float] = field(default_factory=dict)  # by the same names

    def __or__(self, other: Usefulness) -> Usefulness:
        return Usefulness({**self.figures, **other.figures}, {**self.baselines, **other.baselines})


def of_classes(rows: str, predicted: AnyArray, labels: AnyArray, trained_on: AnyArray) -> Usefulness:
    """``rows`` are those that the figures are named after: train, test, prediction."""
    if not len(labels):
        return Usefulness()
    classes, counts = np.unique(trained_on, return_counts=True)
    majority = np.full(len(labels), classes[np.argmax(counts)])
    named = {f"{rows}_accuracy": _accuracy, f"{rows}_balanced_accuracy": _balanced}
    return Usefulness(
        {name: measure(predicted, labels) for name, measure in named.items()},
        {name: measure(majority, labels) for name, measure in named.items()},
    )


def of_numbers(rows: str, predicted: FloatArray, labels: FloatArray, trained_on: FloatArray) -> Usefulness:
    """Share of the labels' variance that the model explains, and that the mean of the training rows does."""
    if not len(labels) or np.ptp(labels) == 0:
        return Usefulness()
    name, mean = f"{rows}_r2", np.full(len(labels), trained_on.mean())
    return Usefulness({name: _explained(predicted, labels)}, {name: _explained(mean, labels)})


def _accuracy(predicted: AnyArray, labels: AnyArray) -> float:
    return float(np.mean(predicted == labels))


def _balanced(predicted: AnyArray, labels: AnyArray) -> float:
    return float(np.mean([np.mean(predicted[labels == one] == one) for one in np.unique(labels)]))


def _explained(predicted: FloatArray, labels: FloatArray) -> float:
    return 1.0 - float(np.sum((labels - predicted) ** 2)) / float(np.sum((labels - labels.mean()) ** 2))
