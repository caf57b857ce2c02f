"""Theorem 6.4: what noise costs in the loss."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem
from fedleak.theory.hu2022.gradient_noise import noise_conditions


@dataclass(frozen=True)
class UtilityBound:
    """``step_size`` is the one that the proof sets; ``excess`` bounds the averaged weights' loss above the
    reference point's, with probability 1 - 2 delta."""

    step_size: float
    excess: float


def utility_bound(
    *, gradient_bound: float, error: float, start: float, radius: float, rounds: int, delta: float
) -> UtilityBound:
    """Eqs. 58 and 64 with all constants kept.

    ``gradient_bound`` is G (eq. 42), ``error`` is u, ``start`` is |theta_0 - theta*|, ``radius`` is C (eq. 46).
    The proof's eq. 52 carries 2 eta^2 and eq. 54 eta / 2; the bound |a + b|^2 <= (G + u)^2 alone gives eta^2,
    hence eta / 2 in eq. 54, which is what is used.
    """
    both = gradient_bound + error
    step = start / (both * sqrt(rounds))
    martingale = (2 * gradient_bound + error) * radius * sqrt(2 * log(1 / delta) / rounds)  # eq. 64 over T
    return UtilityBound(step, both * radius / sqrt(rounds) + martingale)


class NoisyUtility(Theorem):
    """The bound holds for the average of all weights on the quadratic surrogate loss, with a step size that the
    proof chooses; G and C are assumptions on the whole path that no setting guarantees."""

    name = "hu2022/theorem-6.4"
    summary = "with noise the surrogate loss still converges like (u + 1) / sqrt(rounds)"
    reference = Reference("hu2022", "theorem 6.4")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (*noise_conditions(facts), _assumed_path()),
            conclusion="the averaged weights' surrogate loss exceeds the best by O((u + 1) / sqrt(T))",
        )


def _assumed_path() -> Condition:
    return Condition(
        "weights stay within 4G - 2 of zero and within C of the reference (eqs. 41 and 46)",
        State.UNKNOWN,
        "an assumption on the path: check it on a run",
    )
