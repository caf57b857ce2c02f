"""Lemma 4.7 and theorem 4.8: from small random weights, the sign is the label for a while too."""

from __future__ import annotations

from math import exp, log, sqrt

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, equals
from fedleak.theory.hu2022.label_by_sign import safe_rounds, whole_first_epoch
from fedleak.theory.hu2022.unique_residuals import UniqueResiduals

# inf{t : E exp(|Z| / t) <= 2} of a standard normal Z, the root of 2 exp(1 / 2t^2) Phi(1 / t) = 2.
PSI1_OF_STANDARD_NORMAL = 1.3719
FAILURE = 0.05  # of the bound on the first scores that ``assess`` uses


def paper_bound(psi1_norm: float, n_features: int, *, c: float = 1.0) -> float:
    """Eq. 28: |theta_0 x| < (l / c) d^(-1/4) for all rows. The paper leaves the constant c <= 1 open;
    c = 1 is its most optimistic value, an assumption."""
    return psi1_norm / (c * sqrt(sqrt(n_features)))


def paper_confidence(n_rows: int, n_features: int) -> float:
    """1 - 2 n exp(-sqrt d) of lemma 4.7; zero where the bound says nothing."""
    return max(0.0, 1 - 2 * n_rows * exp(-sqrt(n_features)))


def paper_safe_rounds(psi1_norm: float, n_features: int, learning_rate: float, *, c: float = 1.0) -> int:
    """T_l of eq. 31."""
    return safe_rounds(learning_rate, paper_bound(psi1_norm, n_features, c=c), 1.0)


def gaussian_bound(weight_std: float, max_row_norm: float, n_rows: int, *, failure: float = FAILURE) -> float:
    """max |theta_0 x| with probability 1 - failure, for Gaussian weights: each score is N(0, std^2 |x|^2).

    The same statement as lemma 4.7 without an open constant, by the Gaussian tail and a union bound.
    """
    return weight_std * max_row_norm * sqrt(2 * log(2 * n_rows / failure))


def weight_std(initialisation: str, n_features: int) -> float | None:
    """Standard deviation of one weight; None for a scheme that is not random or not known."""
    return {
        "xavier": sqrt(2 / (n_features + 1)),
        "kaiming": sqrt(2 / n_features),
        "normal": 1.0,
    }.get(initialisation)


class SmallInitialisation(Theorem):
    name = "hu2022/theorem-4.8"
    aliases = ("hu2022/lemma-4.7",)
    summary = "from small random weights, the sign of a residual is the label for the first T rounds"
    reference = Reference("hu2022", "lemma 4.7, theorem 4.8")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        bound = first_score_bound(facts)
        return Assessment(
            cls.name,
            (
                *UniqueResiduals.assess(facts).conditions,
                equals("the sigmoid is replaced by its first-order Taylor polynomial", facts.approximation, "taylor"),
                _random_start(facts, bound),
                whole_first_epoch(facts, first_score=0.0 if bound is None else bound),
            ),
            conclusion=f"every label is determined in the first epoch, with probability at least {1 - FAILURE:g}",
            remedy='initialisation = "normal", or noise on the shared scores',
        )


def first_score_bound(facts: Facts) -> float | None:
    """Of max |theta_0 x|, with probability 1 - FAILURE; 0 from zero weights; None where a figure is missing."""
    if facts.initialisation == "zero":
        return 0.0
    if facts.initialisation is None or not facts.n_features or facts.max_row_norm is None or not facts.n_rows:
        return None
    std = weight_std(facts.initialisation, facts.n_features)
    return None if std is None else gaussian_bound(std, facts.max_row_norm, facts.n_rows)


def small_start(bound: float | None, statement: str, *, if_large: State = State.UNKNOWN) -> Condition:
    """Whether the first scores stay below 2. The bound is a worst case: past it, signs are often still right."""
    if bound is None:
        return Condition(statement, State.UNKNOWN, "the initialisation, the width, the rows or their norm is not known")
    chance = f" with probability {1 - FAILURE:g}" if bound else ""
    return Condition(statement, State.HOLDS if bound < 2 else if_large, f"at most {bound:.3g}{chance}")


def _random_start(facts: Facts, bound: float | None) -> Condition:
    statement = "random first weights keep every |theta x| below 2"
    if facts.initialisation == "zero":
        return Condition(statement, State.FAILS, "weights start at zero: theorem 4.6 applies")
    return small_start(bound, statement)
