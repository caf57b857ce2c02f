"""Lemma D.4: the Gaussian mechanism."""

from __future__ import annotations

from math import log, sqrt

from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem


def noise_for(sensitivity: float, *, epsilon: float, delta: float) -> float:
    """sigma = sqrt(2 ln(1.25 / delta)) Delta / epsilon. The lemma's inequality is strict in c; this is its edge."""
    check_budget(epsilon, delta)
    return sqrt(2 * log(1.25 / delta)) * sensitivity / epsilon


def check_budget(epsilon: float, delta: float) -> None:
    if not 0 < epsilon < 1:
        raise InputError(f"epsilon must be between 0 and 1, where the lemma is proved; got {epsilon}")
    if not 0 < delta < 1:
        raise InputError(f"delta must be between 0 and 1; got {delta}")


class GaussianMechanism(Theorem):
    name = "hu2022/lemma-d.4"
    summary = "noise of sqrt(2 ln(1.25 / delta)) sensitivity / epsilon is (epsilon, delta)-private for epsilon below 1"
    reference = Reference("hu2022", "lemma D.4 (theorem A.1 of Dwork and Roth 2014)")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        epsilon = facts.options.get("epsilon")
        statement = "epsilon is between 0 and 1"
        if not isinstance(epsilon, float):
            condition = Condition(statement, State.UNKNOWN, "no privacy budget is declared")
        else:
            condition = Condition(statement, State.HOLDS if 0 < epsilon < 1 else State.FAILS, f"epsilon = {epsilon:g}")
        return Assessment(cls.name, (condition,), conclusion="the noised vector is (epsilon, delta)-private")
