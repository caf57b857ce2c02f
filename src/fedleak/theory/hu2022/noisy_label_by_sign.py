"""Theorem 6.6: for how many rounds scores stay below 2 although noise moves the weights."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, State, Theorem, equals
from fedleak.theory.hu2022.gradient_noise import C_GAUSSIAN, error_bound, noise_conditions
from fedleak.theory.hu2022.label_by_sign import DELTA, noisy_safe_rounds
from fedleak.theory.hu2022.small_initialisation import first_score_bound, small_start


class NoisyLabelBySign(Theorem):
    """A statement about the true scores. The adversary sees residual plus noise, whose sign is right with
    probability Phi(|f| / sigma): T~ bounds neither the success nor the failure of the attack on what it sees."""

    name = "hu2022/theorem-6.6"
    summary = "with noise, every true score stays below 2 for the first T~ rounds, fewer than without"
    reference = Reference("hu2022", "theorem 6.6")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        bound = first_score_bound(facts)
        return Assessment(
            cls.name,
            (
                *noise_conditions(facts),
                equals("the sigmoid is replaced by its first-order Taylor polynomial", facts.approximation, "taylor"),
                small_start(bound, "the first scores are below 2 in absolute value", if_large=State.FAILS),
            ),
            conclusion=_conclusion(facts, bound),
        )


def _conclusion(facts: Facts, bound: float | None) -> str:
    general = "true scores stay below 2 for the first T~ rounds; the noised sign that the adversary sees is not bounded"
    if bound is None or not facts.score_noise or not facts.batch_size or not facts.n_rounds:
        return general
    if facts.learning_rate is None or facts.max_row_norm is None:
        return general
    error = error_bound(
        facts.score_noise, facts.batch_size, facts.n_rounds, delta=DELTA, max_row_norm=facts.max_row_norm
    )
    rounds = noisy_safe_rounds(facts.learning_rate, bound, error, facts.max_row_norm)
    return f"{general} (T~ = {rounds} with probability {1 - DELTA:g}, c = {C_GAUSSIAN:.3f})"
