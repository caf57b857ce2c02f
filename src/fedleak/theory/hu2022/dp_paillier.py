"""Theorem D.5, eqs. 71 and 72: the noise of DP-Paillier-MGD."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Theorem
from fedleak.theory.hu2022.gaussian_mechanism import GaussianMechanism, check_budget, noise_for
from fedleak.theory.hu2022.gradient_noise import noise_conditions
from fedleak.theory.hu2022.sensitivity import sensitivity_conditions


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
