"""The single column and the labels under other approximations of the sigmoid: appendices E and F of Hu et al. 2022.

Cubic (theorems E.2 and E.3): a residual may leave three scores, and its sign is safe while |theta x| < 3.2. Piecewise
linear (theorems F.1 and F.2): a residual on a flat part says little of the score, but never has the wrong sign.
"""

from __future__ import annotations

from math import ceil, log, log1p

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.column_ratios import RatiosWithinBatch
from fedleak.theory.condition import (
    Assessment,
    Condition,
    State,
    Theorem,
    approximated_by,
    at_most,
    batches_per_epoch,
    course_known,
)
from fedleak.theory.countermeasures import VERTICAL
from fedleak.theory.label_signs import first_score_bound
from fedleak.theory.residual_equations import UniqueResiduals


class CubicFeature(Theorem):
    """A residual leaves up to three scores; one where it lies outside the band between the turning points.

    The paper collects the rows with a unique root as C_t, but its eq. 128 writes "in" the band where "not
    in" is meant. Inside the band the middle root is right while |theta x| < 4.05, which the attack takes.
    """

    name = "hu2022/theorem-e.2"
    summary = "with the cubic approximation, a single column is determined once all rows are joined (Q epochs)"
    reference = Reference("hu2022", "theorem E.2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                *RatiosWithinBatch.assess(facts).conditions,
                approximated_by("cubic", facts),
                at_most("there are two or more epochs", 2, facts.n_epochs),
                course_known(facts),
                joined_in_time("Q"),
            ),
            conclusion="every joined value of the column is determined, up to one global sign, in max(Q, 2) epochs",
            remedies=VERTICAL,
        )


def joined_in_time(symbol: str) -> Condition:
    return Condition(
        f"all rows are joined by shared batches within {symbol} epochs of the run",
        State.UNKNOWN,
        "the paper assumes it; the attack counts the rows that it joined",
    )


class PiecewiseFeature(Theorem):
    """Rows with |theta x| < 1/2 give their score exactly; the flat parts give only a half-line."""

    name = "hu2022/theorem-f.1"
    summary = "with the piecewise approximation, a single column is determined once all rows are joined (R epochs)"
    reference = Reference("hu2022", "theorem F.1")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                *RatiosWithinBatch.assess(facts).conditions,
                approximated_by("piecewise", facts),
                at_most("there are two or more epochs", 2, facts.n_epochs),
                course_known(facts),
                joined_in_time("R"),
            ),
            conclusion="every joined value of the column is determined, up to one global sign, in max(R, 2) epochs",
            remedies=VERTICAL,
        )


SAFE_SCORE = 3.2  # eq. 131: below it the score's part of the residual is under 1/2


def cubic_safe_rounds(learning_rate: float, first_score: float, max_row_norm: float = 1.0) -> int:
    """Eq. 137; for rows of norm up to R the growth is 1 + eta R^2 / 4, as for the Taylor polynomial."""
    if first_score >= 2:
        return 0
    return ceil(log((SAFE_SCORE + 2) / (2 + first_score)) / log1p(learning_rate * max_row_norm**2 / 4))


class CubicLabel(Theorem):
    name = "hu2022/theorem-e.3"
    summary = "with the cubic approximation, the sign of a residual is the label for the first T rounds"
    reference = Reference("hu2022", "theorem E.3")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                *UniqueResiduals.assess(facts).conditions,
                approximated_by("cubic", facts),
                _cubic_first_epoch(facts),
            ),
            conclusion="every label is determined in the first epoch",
            remedies=VERTICAL,
        )


def _cubic_first_epoch(facts: Facts) -> Condition:
    statement = "first scores are below 2, and the first epoch ends within the safe rounds T"
    bound = first_score_bound(facts)
    if bound is None or facts.learning_rate is None or facts.max_row_norm is None:
        return Condition(statement, State.UNKNOWN, "the initialisation, learning rate or rows' norm is not known")
    rounds = batches_per_epoch(facts)
    if rounds is None:
        return Condition(statement, State.UNKNOWN, "the number of rows or the batch size is not known")
    safe = cubic_safe_rounds(facts.learning_rate, bound, facts.max_row_norm)
    return Condition(statement, State.HOLDS if rounds <= safe else State.UNKNOWN, f"{rounds} rounds, T = {safe}")


class PiecewiseLabel(Theorem):
    """No T is needed: a residual of the true sigmoid's kind never has the wrong sign, it can only vanish.

    A row is silent while it is classified right with |theta x| >= 1/2.
    """

    name = "hu2022/theorem-f.2"
    summary = "with the piecewise approximation, the sign of every non-zero residual is the label in every round"
    reference = Reference("hu2022", "theorem F.2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                *UniqueResiduals.assess(facts).conditions,
                approximated_by("piecewise", facts),
                never_silent(facts),
            ),
            conclusion="every label is determined in the first epoch",
            remedies=VERTICAL,
        )


def never_silent(facts: Facts) -> Condition:
    """From small weights each row's first residual is non-zero while scores stay below 1/2."""
    statement = "each row has a non-zero residual at some time: first scores are below 1/2"
    bound = first_score_bound(facts)
    if bound is None:
        return Condition(statement, State.UNKNOWN, "the initialisation, the width, the rows or their norm is not known")
    rounds = batches_per_epoch(facts)
    if facts.learning_rate is None or facts.max_row_norm is None or rounds is None:
        return Condition(statement, State.UNKNOWN, "the learning rate, rows' norm, rows or batch size is not known")
    # A residual is at most 1 in absolute value, so a round moves a score by at most eta R^2.
    highest = bound + (rounds - 1) * facts.learning_rate * facts.max_row_norm**2
    state = State.HOLDS if highest < 0.5 else State.UNKNOWN
    return Condition(statement, state, f"at most {highest:.3g} in the first epoch")
