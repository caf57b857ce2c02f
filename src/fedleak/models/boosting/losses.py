"""What is boosted: the loss, its first and second derivative in the score, and what a score says.

The second derivatives are XGBoost's: of softmax twice p(1 - p), an upper bound of the diagonal.
"""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import InputError


class Objective(StrEnum):
    LOGISTIC = "logistic"  # two classes, one score
    SOFTMAX = "softmax"  # a score for each class
    SQUARED = "squared"  # labels are numbers


MIN_HESSIAN = 1e-16  # XGBoost's
LARGEST_HESSIAN = {Objective.LOGISTIC: 0.25, Objective.SOFTMAX: 0.5, Objective.SQUARED: 1.0}


def n_scores(objective: Objective, n_classes: int) -> int:
    """Trees that each round of boosting grows."""
    return n_classes if objective is Objective.SOFTMAX else 1


def first_score(objective: Objective, labels: AnyArray) -> float:
    """What every row starts with: even odds, or the mean label."""
    return float(np.mean(labels)) if objective is Objective.SQUARED else 0.0


def probabilities(objective: Objective, scores: FloatArray) -> FloatArray:
    """(rows, classes) from (rows, scores); of a regression the predicted number itself."""
    if objective is Objective.SQUARED:
        return scores
    if objective is Objective.LOGISTIC:
        positive = _sigmoid(scores[:, 0])
        return np.column_stack([1.0 - positive, positive])
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def derivatives(objective: Objective, scores: FloatArray, labels: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Gradient and hessian of each row's loss in each of its scores, (rows, scores) both."""
    if objective is Objective.SQUARED:
        return scores - labels[:, None], np.ones_like(scores)
    if objective is Objective.LOGISTIC:
        p = _sigmoid(scores)
        return p - labels[:, None], np.maximum(p * (1.0 - p), MIN_HESSIAN)
    p = probabilities(objective, scores)
    wanted = labels[:, None] == np.arange(scores.shape[1])
    return p - wanted, np.maximum(2.0 * p * (1.0 - p), MIN_HESSIAN)


def objective_for(wanted: str, labels: AnyArray) -> Objective:
    """``auto``: by the labels, which must have two classes or more."""
    classes = np.unique(labels)
    are_classes = labels.dtype.kind in "iub" and (not len(classes) or classes[0] >= 0)
    if wanted == "auto":
        wanted = ("logistic" if classes.max(initial=0) <= 1 else "softmax") if are_classes else "squared"
    objective = Objective(wanted)
    if len(classes) < 2:
        raise InputError(
            f"labels must have two different values or more; got {len(classes)}: there is nothing to learn. "
            "Set [data] target to another column, or take other rows"
        )
    if objective is not Objective.SQUARED and not are_classes:
        raise InputError(f'labels must be classes 0, 1, 2 ... for objective = "{objective}"; set [data] task')
    if objective is Objective.LOGISTIC and classes[-1] > 1:
        raise InputError(f'labels must be 0 or 1 for objective = "logistic"; got {len(classes)} classes: use "softmax"')
    return objective


def randomised(labels: AnyArray, n_classes: int, epsilon: float, rng: np.random.Generator) -> AnyArray:
    """Randomised response of local privacy epsilon: a class stays with odds e^epsilon against each other one."""
    moved = (labels + rng.integers(1, n_classes, size=len(labels))) % n_classes
    stays = rng.random(len(labels)) < np.exp(epsilon) / (np.exp(epsilon) + n_classes - 1)
    return np.where(stays, labels, moved).astype(labels.dtype)


def _sigmoid(scores: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * scores)), dtype=np.float64)
