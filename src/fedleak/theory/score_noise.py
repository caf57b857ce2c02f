"""What Gaussian noise on the shared scores does to training: to a gradient, and to the loss.

Lemma 6.3 and theorem 6.4 of Hu et al. 2022, with every constant explicit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem

# The paper's proof cites the Hanson-Wright inequality and leaves its absolute constant c open. For Gaussian noise the
# chi-square bound of Laurent and Massart (2000, lemma 1) gives z'Pz <= sigma^2 (tr P + 2 sqrt(x) |P|_F + 2 x |P|)
# with probability 1 - e^-x. With tr P, |P|_F, |P| <= s and x = c k, it stays below eq. 93's 4 k s sigma^2 for
# every k >= 1 when 1 + 2 sqrt(c) + 2 c <= 4.
C_GAUSSIAN = ((sqrt(7) - 1) / 2) ** 2


def error_bound(
    sigma: float, batch_size: int, n_rounds: int, *, delta: float, max_row_norm: float = 1.0, c: float = C_GAUSSIAN
) -> float:
    """u of theorem 6.4: |e_t| <= u in all rounds with probability 1 - delta, e_t as in eq. 45.

    From 2 T exp(-c k) = delta. ``sigma`` is the larger of the two parties' (max{sigma_A, sigma_B}).
    """
    k = log(2 * n_rounds / delta) / c
    if k < 1:
        raise ValueError(
            f"lemma 6.3 needs k >= 1, so delta must be at most {2 * n_rounds / 2.7182818**c:g}; got {delta}"
        )
    return max_row_norm * sqrt(k / batch_size) * sigma


class GradientNoise(Theorem):
    name = "hu2022/lemma-6.3"
    summary = "noise of deviation sigma on shared scores moves a gradient by at most sqrt(k / s) sigma"
    reference = Reference("hu2022", "lemma 6.3")
    delta = 0.05

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(cls.name, noise_conditions(facts), conclusion=cls._conclusion(facts))

    @classmethod
    def _conclusion(cls, facts: Facts) -> str:
        if not facts.score_noise or not facts.batch_size or not facts.n_rounds or facts.max_row_norm is None:
            return "the gradient's error is bounded in all rounds with high probability"
        bound = error_bound(
            facts.score_noise, facts.batch_size, facts.n_rounds, delta=cls.delta, max_row_norm=facts.max_row_norm
        )
        return f"every gradient is off by at most {bound:.4g} with probability {1 - cls.delta:g} (c = {C_GAUSSIAN:.3f})"


def noise_conditions(facts: Facts) -> tuple[Condition, ...]:
    return (_noised(facts), _rows_bounded(facts), _sizes_known(facts))


def _noised(facts: Facts) -> Condition:
    statement = "independent Gaussian noise is on the shared scores"
    if facts.score_noise is None:
        return Condition(statement, State.UNKNOWN, "not known")
    state = State.HOLDS if facts.score_noise > 0 else State.FAILS
    return Condition(statement, state, f"standard deviation {facts.score_noise:g}")


def _rows_bounded(facts: Facts) -> Condition:
    statement = "the rows' 2-norm is bounded"
    if facts.max_row_norm is None:
        return Condition(statement, State.UNKNOWN, "no bound is declared")
    return Condition(statement, State.HOLDS, f"at most {facts.max_row_norm:g}")


def _sizes_known(facts: Facts) -> Condition:
    statement = "batch size and number of rounds are known"
    known = facts.batch_size is not None and facts.n_rounds is not None
    return Condition(
        statement, State.HOLDS if known else State.UNKNOWN, f"{facts.batch_size} rows, {facts.n_rounds} rounds"
    )


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
