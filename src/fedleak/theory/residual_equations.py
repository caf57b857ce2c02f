"""What one gradient gives away: as many equations as the adversary has columns, one unknown a row of the batch.

With no more rows than columns the residuals follow (corollary 3.2 of Hu et al. 2022), and with the labels the partner's
scores (section 4.1 of Li et al. 2021). Larger batches: labels where every column is known (theorem 4.1), and packed
ciphertexts, by which a dishonest party gets more equations (``packed_equations``).
"""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import (
    LINEAR_RESIDUALS,
    Assessment,
    Condition,
    State,
    Theorem,
    at_most,
    n_outside_features,
    no_noise,
    revealed,
)
from fedleak.theory.countermeasures import VERTICAL


def batch_within_columns(facts: Facts) -> Condition:
    """s <= d: as many equations as unknowns. Fails for certain only where the last batch of an epoch, which has the
    rows that are left, has too many as well: a short one is solved in every epoch."""
    statement, width = "batch size is at most the adversary's features", facts.n_adversary_features
    within = at_most(statement, facts.batch_size, width)
    if within.state is not State.FAILS or width is None:
        return within
    last = rows_of_last_batch(facts)
    if last is None:
        return Condition(statement, State.UNKNOWN, f"{within.detail}; how many rows the last batch has is not known")
    if last <= width:
        return Condition(statement, State.UNKNOWN, f"{within.detail}; the last batch of an epoch has {last} rows alone")
    return within


def rows_independent() -> Condition:
    """The papers' assumption on data. Columns of few values break it now and then: codes, flags, whole numbers."""
    return Condition(
        "own rows of a batch are in general position", State.HOLDS, "assumed of any data; the attack checks each batch"
    )


def rows_of_last_batch(facts: Facts) -> int | None:
    """n mod s, or a whole batch."""
    if facts.n_rows is None or not facts.batch_size:
        return None
    return facts.n_rows % facts.batch_size or min(facts.batch_size, facts.n_rows)


class UniqueResiduals(Theorem):
    """If s <= d, the system sum_i r_i x_i = s * gradient has one solution (theorem 3.1, almost surely).

    That the rows are in general position is the paper's data assumption; the attack checks the rank of the
    real batches, and says so where it is too small.
    """

    name = "hu2022/corollary-3.2"
    aliases = ("hu2022/theorem-3.1",)
    summary = "with batch size <= own features, the own gradient determines every residual"
    reference = Reference("hu2022", "theorem 3.1 and corollary 3.2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                batch_within_columns(facts),
                rows_independent(),
                revealed(Capability.OWN_GRADIENT, facts),
                no_noise(facts),
            ),
            conclusion="every residual of every batch is determined",
            remedies=VERTICAL,
        )


def _one_score(facts: Facts) -> Condition:
    """Flat parts of the piecewise approximation leave a half-line, and a cubic residual up to three scores."""
    statement = "a residual leaves one score"
    if facts.approximation is None:
        return Condition(statement, State.UNKNOWN, "the approximation of the sigmoid is not known")
    state = State.HOLDS if facts.approximation in LINEAR_RESIDUALS else State.UNKNOWN
    return Condition(statement, state, f"the residual is {facts.approximation} in the score")


class ScoreRecovery(Theorem):
    """g = X^T d / m + l2 w has one solution d if the batch's own rows are independent; d gives the partners' z, one sum
    over all parties outside.

    The paper's "records are rarely dependent" is a statement on data; the attack checks the rank of the real batches.
    """

    name = "li2021/section-4.1"
    summary = "with batch size <= own features, the active party learns the partner's score of every row"
    reference = Reference("li2021", "section 4.1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                batch_within_columns(facts),
                rows_independent(),
                revealed(Capability.OWN_GRADIENT, facts),
                revealed(Capability.LABELS, facts),
                _one_score(facts),
                no_noise(facts),
            ),
            conclusion="every partial score of every batch is determined",
            remedies=VERTICAL,
        )


class LabelsWithoutFeatures(Theorem):
    """sum_i y_i x_i is known, and for rows in general position one choice of signs gives it.

    No bound on the batch size is needed for uniqueness; finding the signs takes exponential time in the rows
    beyond the adversary's columns. Rows that repeat, or whole-number columns, break the general position.
    """

    name = "hu2022/theorem-4.1"
    summary = "a label party that holds no columns leaves its labels determined, for any batch size"
    reference = Reference("hu2022", "theorem 4.1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                _nothing_outside(facts),
                rows_independent(),
                revealed(Capability.OWN_GRADIENT, facts),
                no_noise(facts),
                _known_residual(facts),
            ),
            conclusion="every batch determines its labels; finding them is as hard as a subset-sum problem",
            remedies=VERTICAL,
        )


def _nothing_outside(facts: Facts) -> Condition:
    """d_A = 0: the adversary holds every column, so it knows every score."""
    statement = "every column is the adversary's: the label party holds none"
    n_outside = n_outside_features(facts)
    if n_outside is None:
        return Condition(statement, State.UNKNOWN, "a party's number of columns is not known")
    return Condition(statement, State.HOLDS if n_outside == 0 else State.FAILS, f"{n_outside} columns outside")


def _known_residual(facts: Facts) -> Condition:
    """Appendices E.2 and F.2 carry the theorem over: with known scores the label's part is -y / 2 in all of them."""
    statement = "the approximation of the sigmoid is known"
    state = State.UNKNOWN if facts.approximation is None else State.HOLDS
    return Condition(statement, state, facts.approximation or "not known")
