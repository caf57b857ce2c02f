"""Share of class labels that are guessed right, beside always naming the more frequent class."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.score import Better
from fedleak.core.secret import SecretKind
from fedleak.core.truth import SecretValues
from fedleak.metrics.metric import CellMetric

MAX_CLASSES = 20
TOLERANCE = 0.01  # of the step from a class to the next


class LabelAccuracy(CellMetric):
    """A row without a guess is given the more frequent class, which is what an ignorant attacker says."""

    name = "label-accuracy"
    summary = "share of labels guessed right; baseline: the majority class"
    better = Better.HIGHER
    applies_to = frozenset({SecretKind.LABELS})

    def suits(self, kind: SecretKind, truth: SecretValues) -> bool:
        return are_classes(truth.values)

    def cell_scores(self, cells: FloatArray, truth: SecretValues, unknown: BoolArray) -> FloatArray:
        majority, _ = _majority(truth.values[unknown])
        right: BoolArray = np.abs(np.where(np.isnan(cells), majority, cells) - truth.values) <= TOLERANCE
        return right.astype(np.float64)

    def baseline(self, truth: SecretValues, unknown: BoolArray) -> float:
        return _majority(truth.values[unknown])[1]


def are_classes(labels: FloatArray) -> bool:
    """Whether labels are 0, 1, .. up to a few classes. Any others are numbers: near them is nearly right."""
    return bool(((labels == np.rint(labels)) & (labels >= 0) & (labels < MAX_CLASSES)).all())


def _majority(labels: FloatArray) -> tuple[float, float]:
    """The most frequent class and its share."""
    classes, counts = np.unique(labels, return_counts=True)
    return float(classes[np.argmax(counts)]), float(counts.max() / counts.sum())
