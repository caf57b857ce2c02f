"""What predictions of a shared model reveal of the unknown columns: thresholds and bounds of Luo et al. 2021.

Logistic regression: when the confidences determine every cell (section IV-A), and how far off the pseudo-inverse is
where they do not (eq. 15). Trees: how many paths a prediction leaves (section IV-B).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.models.inversion.tree_paths import candidate_paths, tree_paths
from fedleak.models.tree_models import TreeModel
from fedleak.protocols.prediction.vocabulary import PredictionFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, equals, revealed
from fedleak.theory.countermeasures import HIDDEN_MODEL


class ExactEquations(Theorem):
    """d_target <= c - 1. That the equations are independent is assumed; the attack measures their rank."""

    name = "luo2021/equality-threshold"
    summary = "with at most c - 1 unknown columns, the confidences of a logistic regression determine all of them"
    reference = Reference("luo2021", "section IV-A, eq. 8")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        unknown, n_classes = n_unknown_columns(facts), classes_of(facts)
        return Assessment(
            cls.name,
            (
                equals("the model is a logistic regression", facts.of(PredictionFacts).model, "logistic"),
                at_most("unknown columns are at most the classes less one", unknown, n_classes and n_classes - 1),
                revealed(Capability.MODEL, facts),
                revealed(Capability.PREDICTIONS, facts),
                exact_confidences(facts),
            ),
            conclusion="every unknown cell of a predicted row is determined, if weights of columns are independent",
            remedies=(HIDDEN_MODEL,),
        )


def n_unknown_columns(facts: Facts) -> int | None:
    """d_target: what the coalition does not hold."""
    if facts.n_features is None or facts.n_adversary_features is None:
        return None
    return facts.n_features - facts.n_adversary_features


def classes_of(facts: Facts) -> int | None:
    n_classes = facts.of(PredictionFacts).n_classes
    return n_classes if n_classes is not None and n_classes > 1 else None


def exact_confidences(facts: Facts) -> Condition:
    statement = "confidences are revealed as they are"
    own = facts.of(PredictionFacts)
    declared = {
        "confidence_digits": own.confidence_digits is not None,
        "confidence_noise": bool(own.confidence_noise),
        "top_label": bool(own.top_label),
        "withheld": bool(own.withheld),
    }
    changed = [name for name, is_declared in declared.items() if is_declared]
    state = State.FAILS if changed else State.HOLDS
    return Condition(statement, state, f"a defense declares {', '.join(changed)}" if changed else "no defense on them")


def error_bound(hidden: FloatArray) -> float:
    """(1 / d_target) sum 2 x^2, averaged over the rows (eq. 15).

    It follows from ||x_hat|| <= ||x|| (eq. 11) and, for eq. 14, from x_hat . x >= 0, which the paper takes from x >= 0
    although x_hat may have negative entries. It holds all the same: x - x_hat is orthogonal to x_hat, so
    x_hat . x = ||x_hat||^2 >= 0, and the error is exactly ||x||^2 - ||x_hat||^2: half the bound suffices.
    """
    return float(2.0 * np.mean(hidden**2))


def sharp_error_bound(hidden: FloatArray) -> float:
    """(1 / d_target) sum x^2: what orthogonality gives, half of eq. 15."""
    return error_bound(hidden) / 2.0


@dataclass(frozen=True, eq=False)
class PathCount:
    n_paths: int  # n_p
    by_own_features: IntArray  # (rows,): paths that own features allow
    by_prediction: IntArray  # (rows,): n_r, those that also end in the predicted class


def count_paths(tree: TreeModel, own: FloatArray, own_positions: IntArray, confidences: FloatArray) -> PathCount:
    """Section IV-B: how many of a tree's paths own features leave, and how many of those the prediction does."""
    paths = tree_paths(tree)
    allowed = paths.matching(own, own_positions)
    left = candidate_paths(paths, own, own_positions, confidences)
    return PathCount(len(paths.leaves), allowed.sum(axis=1), left.sum(axis=1))
