"""How much noise a privacy budget asks for: appendix D of Hu et al. 2022.

How far one row moves weights and shared scores (lemmas D.2 and D.3), the Gaussian mechanism (lemma D.4), and both
together for DP-Paillier-MGD (theorem D.5, eqs. 71 and 72).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from fedleak.core.attack import Reference
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.protocols.linear.vocabulary import LinearFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, approximated_by, at_most
from fedleak.theory.score_noise import noise_conditions


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
        approximated_by("taylor", facts),
        Condition(
            "weights stay within 4G - 2 of zero (eq. 41)", State.UNKNOWN, "an assumption on the path: check it on a run"
        ),
    )


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
        epsilon = facts.of(LinearFacts).epsilon
        statement = "epsilon is between 0 and 1"
        if epsilon is None:
            condition = Condition(statement, State.UNKNOWN, "no privacy budget is declared")
        else:
            condition = Condition(statement, State.HOLDS if 0 < epsilon < 1 else State.FAILS, f"epsilon = {epsilon:g}")
        return Assessment(cls.name, (condition,), conclusion="the noised vector is (epsilon, delta)-private")


@dataclass(frozen=True)
class NoiseLevels:
    """Standard deviations on the shared scores: of the label party (A in the paper) and of the others (B)."""

    active: float
    passive: float


def noise_levels(
    *,
    epsilon: float,
    delta: float,
    epochs: int,
    rounds: int,
    learning_rate: float,
    batch_size: int,
    gradient_bound: float = 1.0,
    as_printed: bool = False,
) -> NoiseLevels:
    """Eqs. 71 and 72 with the fraction outside the first root, as lemma D.4 demands.

    ``as_printed`` puts everything under the outer root, as the equations are typeset: about a tenth of the
    noise, for which the proof of theorem D.5 gives no privacy statement.
    """
    check_budget(epsilon, delta)
    drift = 8 * gradient_bound**2 * epochs**2 * rounds * learning_rate**2 / batch_size
    changes = {"active": 8 * gradient_bound, "passive": 8 * gradient_bound - 4}
    sensitivities = {role: sqrt(drift + change**2 * epochs) for role, change in changes.items()}
    if as_printed:
        levels = {role: sqrt(2 * log(1.25 / delta) * value / epsilon) for role, value in sensitivities.items()}
    else:
        levels = {role: noise_for(value, epsilon=epsilon, delta=delta) for role, value in sensitivities.items()}
    return NoiseLevels(**levels)


class DpPaillier(Theorem):
    """Differential privacy here is about one row's presence in the whole table, given that the noised scores are
    all that is seen. The parties know each other's rows anyway, so it promises nothing about labels or values
    as such; against the attacks it works by burying each residual under the noise."""

    name = "hu2022/theorem-d.5"
    summary = "the noise of eqs. 71 and 72 makes the shared scores (epsilon, delta)-private, heuristically"
    reference = Reference("hu2022", "theorem D.5, eqs. 71 and 72")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        budget = GaussianMechanism.assess(facts).conditions
        return Assessment(
            cls.name,
            (*noise_conditions(facts), *sensitivity_conditions(facts), *budget),
            conclusion="all noised scores together are (epsilon, delta)-private towards one row's presence",
        )
