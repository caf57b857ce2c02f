"""Theorem E.3: the sign of the residual is the label under the cubic approximation."""

from __future__ import annotations

from math import ceil, log, log1p

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, equals
from fedleak.theory.hu2022.small_initialisation import first_score_bound
from fedleak.theory.hu2022.unique_residuals import UniqueResiduals

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
                equals("the sigmoid is replaced by its cubic minimax polynomial", facts.approximation, "cubic"),
                _whole_first_epoch(facts),
            ),
            conclusion="every label is determined in the first epoch",
            remedy='initialisation = "normal", or noise on the shared scores',
        )


def _whole_first_epoch(facts: Facts) -> Condition:
    statement = "first scores are below 2, and the first epoch ends within the safe rounds T"
    bound = first_score_bound(facts)
    if bound is None or facts.learning_rate is None or facts.max_row_norm is None:
        return Condition(statement, State.UNKNOWN, "the initialisation, learning rate or rows' norm is not known")
    if facts.n_rows is None or facts.batch_size is None:
        return Condition(statement, State.UNKNOWN, "the number of rows or the batch size is not known")
    rounds = -(-facts.n_rows // facts.batch_size)
    safe = cubic_safe_rounds(facts.learning_rate, bound, facts.max_row_norm)
    return Condition(statement, State.HOLDS if rounds <= safe else State.UNKNOWN, f"{rounds} rounds, T = {safe}")
