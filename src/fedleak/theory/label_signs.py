"""For how many rounds the sign of a residual is the label: while |theta x| < 2, under the Taylor approximation.

Hu et al. 2022: from zero weights (lemma 4.4 to theorem 4.6), from small random ones (lemma 4.7, theorem 4.8), with more
than two parties (theorem 4.10), and when noise moves the weights (theorem 6.6).
"""

from __future__ import annotations

from math import ceil, exp, log, log1p, sqrt

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.steps import DATA_ROLES
from fedleak.theory.condition import Assessment, Condition, State, Theorem, approximated_by, batches_per_epoch, equals
from fedleak.theory.countermeasures import VERTICAL
from fedleak.theory.residual_equations import UniqueResiduals
from fedleak.theory.score_noise import C_GAUSSIAN, error_bound, noise_conditions

DELTA = 0.05  # what statements about noise leave to chance


def growth(learning_rate: float, max_row_norm: float) -> float:
    """Lemma 4.4: h grows by at most this factor a round, h = max |theta x| + 2.

    The paper has rows of norm at most 1; for a bound R it is 1 + eta R^2 / 4, since |x_i . x_j| <= R^2.
    """
    return 1 + learning_rate * max_row_norm**2 / 4


def safe_rounds(learning_rate: float, first_score: float, max_row_norm: float) -> int:
    """T of eq. 25: the first T rounds have |theta x| < 2 for every row. ``first_score`` is max |theta_0 x|."""
    if first_score >= 2:
        return 0
    return ceil(log(4 / (2 + first_score)) / log1p(growth(learning_rate, max_row_norm) - 1))


def noisy_safe_rounds(learning_rate: float, first_score: float, error: float, max_row_norm: float = 1.0) -> int:
    """T~ of eq. 65: |theta x| < 2 in the first T~ rounds if every gradient's error is at most ``error`` (u).

    For rows of norm up to R: |theta_t x| grows by eta R^2 / 4 (|theta x| + 2) + eta R u a round (eq. 67), so
    q = |theta x| + p grows by the factor 1 + eta R^2 / 4 with p = 2 + 4 u / R; the threshold is 2 + p.
    (The proof's last line adds epsilon to the threshold; the theorem itself does not.)
    """
    if first_score >= 2:
        return 0
    offset = 2 + 4 * error / max_row_norm
    return ceil(log((2 + offset) / (first_score + offset)) / log1p(learning_rate * max_row_norm**2 / 4))


class LabelBySign(Theorem):
    name = "hu2022/theorem-4.6"
    aliases = ("hu2022/lemma-4.4", "hu2022/corollary-4.5")
    summary = "from zero weights, the sign of a residual is the label for the first T rounds"
    reference = Reference("hu2022", "lemma 4.4, corollary 4.5, theorem 4.6")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        conditions = (
            *UniqueResiduals.assess(facts).conditions,
            approximated_by("taylor", facts),
            equals("weights start at zero", facts.initialisation, "zero"),
            whole_first_epoch(facts),
        )
        return Assessment(
            cls.name,
            conditions,
            conclusion="every label is determined in the first epoch",
            remedies=VERTICAL,
        )


def whole_first_epoch(facts: Facts, *, first_score: float = 0.0) -> Condition:
    """The criterion reaches every row only if the first epoch ends within T rounds (remark 4.3)."""
    statement = "the first epoch ends within the safe rounds T"
    if facts.learning_rate is None or facts.max_row_norm is None:
        return Condition(statement, State.UNKNOWN, "the learning rate or a bound on the rows' norm is not known")
    rounds = batches_per_epoch(facts)
    if rounds is None or facts.batch_size is None:
        return Condition(statement, State.UNKNOWN, "the number of rows or the batch size is not known")
    if facts.score_noise is None:
        return Condition(statement, State.UNKNOWN, "whether noise moves the weights is not known")
    safe = safe_rounds(facts.learning_rate, first_score, facts.max_row_norm)
    if facts.score_noise:  # the adversary may be without it and the others' training not
        error = error_bound(facts.score_noise, facts.batch_size, rounds, delta=DELTA, max_row_norm=facts.max_row_norm)
        safe = noisy_safe_rounds(facts.learning_rate, first_score, error, facts.max_row_norm)
    state = State.HOLDS if rounds <= safe else State.UNKNOWN  # T is a worst case: past it, often still right
    how = f", with probability {1 - DELTA:g} under noise" if facts.score_noise else ""
    return Condition(statement, state, f"{rounds} rounds, T = {safe}{how}")


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
                approximated_by("taylor", facts),
                _random_start(facts, bound),
                whole_first_epoch(facts, first_score=0.0 if bound is None else bound),
            ),
            conclusion=f"every label is determined in the first epoch, with probability at least {1 - FAILURE:g}",
            remedies=VERTICAL,
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


class ManyParties(Theorem):
    """The criterion needs the whole score to be small, not to be one partner's. A coalition counts as one party
    whose columns are all of its members'."""

    name = "hu2022/theorem-4.10"
    summary = "with three or more parties, each that holds enough columns reads the labels off the sign"
    reference = Reference("hu2022", "theorem 4.10")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        bound = first_score_bound(facts)
        return Assessment(
            cls.name,
            (
                _three_or_more(facts),
                _not_the_label_party(facts),
                *UniqueResiduals.assess(facts).conditions,
                approximated_by("taylor", facts),
                small_start(bound, "the first scores are below 2 in absolute value (eq. 32)"),
                whole_first_epoch(facts, first_score=0.0 if bound is None else bound),
            ),
            conclusion="every label is determined in the first epoch",
            remedies=VERTICAL,
        )


def _three_or_more(facts: Facts) -> Condition:
    count = len([party for party in facts.parties if party.role in DATA_ROLES])
    return Condition("three or more data parties", State.HOLDS if count >= 3 else State.FAILS, f"{count} parties")


def _not_the_label_party(facts: Facts) -> Condition:
    statement = "the adversary does not hold the labels"
    if facts.capabilities is None:
        return Condition(statement, State.UNKNOWN, "what the protocol reveals is not known")
    holds = Capability.LABELS in facts.capabilities
    return Condition(statement, State.FAILS if holds else State.HOLDS, ", ".join(facts.adversary))


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
                approximated_by("taylor", facts),
                small_start(bound, "the first scores are below 2 in absolute value", if_large=State.FAILS),
            ),
            conclusion=_noisy_conclusion(facts, bound),
        )


def _noisy_conclusion(facts: Facts, bound: float | None) -> str:
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
