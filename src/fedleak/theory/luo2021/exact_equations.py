"""Section IV-A: with at most c - 1 unknown columns, confidences of a logistic regression determine them."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, equals, revealed


class ExactEquations(Theorem):
    """d_target <= c - 1. That the equations are independent is assumed; the attack measures their rank."""

    name = "luo2021/equality-threshold"
    summary = "with at most c - 1 unknown columns, the confidences of a logistic regression determine all of them"
    reference = Reference("luo2021", "section IV-A, eq. 8")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        unknown, n_classes = n_unknown_columns(facts), classes_of(facts)
        model = facts.options.get("model")
        return Assessment(
            cls.name,
            (
                equals("the model is a logistic regression", None if model is None else str(model), "logistic"),
                at_most("unknown columns are at most the classes less one", unknown, n_classes and n_classes - 1),
                revealed(Capability.MODEL, facts),
                revealed(Capability.PREDICTIONS, facts),
                exact_confidences(facts),
            ),
            conclusion="every unknown cell of every predicted row is determined",
            remedy=""
            if n_classes is None
            else f"let each coalition lack {n_classes} or more columns, or reveal the top label only",
        )


def n_unknown_columns(facts: Facts) -> int | None:
    """d_target: what the coalition does not hold."""
    if facts.n_features is None or facts.n_adversary_features is None:
        return None
    return facts.n_features - facts.n_adversary_features


def classes_of(facts: Facts) -> int | None:
    n_classes = facts.options.get("n_classes")
    return n_classes if isinstance(n_classes, int) and n_classes > 1 else None


def exact_confidences(facts: Facts) -> Condition:
    statement = "confidences are revealed as they are"
    names = ("confidence_digits", "confidence_noise", "top_label", "withheld")
    changed = [name for name in names if facts.options.get(name)]
    state = State.FAILS if changed else State.HOLDS
    return Condition(statement, state, f"a defense declares {', '.join(changed)}" if changed else "no defense on them")
