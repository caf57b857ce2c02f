"""Lemmas D.2 and D.3: how much one row can change the weights and the shared scores."""

from __future__ import annotations

from math import sqrt

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, equals


def weight_sensitivity(epoch: int, *, learning_rate: float, gradient_bound: float, batch_size: int) -> float:
    """Lemma D.2, applied once an epoch: after ``epoch`` epochs the weights differ by at most this."""
    return epoch * 2 * sqrt(2) * learning_rate * gradient_bound / batch_size


def score_sensitivity(*, weights: float, batch_size: int, own_change: float, differs: bool) -> float:
    """Lemma D.3, eqs. 104 and 105: ``own_change`` is 8G for the label party and 8G - 4 for another."""
    common = batch_size * weights**2
    return sqrt(common + own_change**2) if differs else sqrt(common)


class Sensitivity(Theorem):
    """Two data sets that differ in one row. G bounds the single gradients along the path: an assumption.

    The lemma is proved for training without noise; the noise of the defense moves the path, so what follows
    from it is a heuristic, as the paper says.
    """

    name = "hu2022/lemma-d.3"
    aliases = ("hu2022/lemma-d.2",)
    summary = "one row changes weights and shared scores by a bounded amount an epoch"
    reference = Reference("hu2022", "lemmas D.2 and D.3")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            sensitivity_conditions(facts),
            conclusion="one row changes the weights by at most 2 sqrt(2) eta G / s an epoch",
        )


def sensitivity_conditions(facts: Facts) -> tuple[Condition, ...]:
    return (
        at_most("the learning rate is at most 1", facts.learning_rate, 1.0),
        at_most("rows have 2-norm at most 1", facts.max_row_norm, 1.0),
        equals("the sigmoid is replaced by its first-order Taylor polynomial", facts.approximation, "taylor"),
        Condition(
            "weights stay within 4G - 2 of zero (eq. 41)", State.UNKNOWN, "an assumption on the path: check it on a run"
        ),
    )
