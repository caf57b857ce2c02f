"""Theorem F.2: the sign of a non-zero residual is the label, at any time, under the piecewise approximation."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, equals
from fedleak.theory.hu2022.small_initialisation import first_score_bound
from fedleak.theory.hu2022.unique_residuals import UniqueResiduals


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
                equals("the sigmoid is replaced by a piecewise linear function", facts.approximation, "piecewise"),
                _never_silent(facts),
            ),
            conclusion="every label is determined in the first epoch",
            remedy="noise on the shared scores",
        )


def _never_silent(facts: Facts) -> Condition:
    """From small weights each row's first residual is non-zero while scores stay below 1/2."""
    statement = "each row has a non-zero residual at some time: first scores are below 1/2"
    bound = first_score_bound(facts)
    if bound is None:
        return Condition(statement, State.UNKNOWN, "the initialisation, the width, the rows or their norm is not known")
    if facts.learning_rate is None or facts.max_row_norm is None or facts.n_rows is None or facts.batch_size is None:
        return Condition(statement, State.UNKNOWN, "the learning rate, rows' norm, rows or batch size is not known")
    # A residual is at most 1 in absolute value, so a round moves a score by at most eta R^2.
    rounds = -(-facts.n_rows // facts.batch_size)
    highest = bound + (rounds - 1) * facts.learning_rate * facts.max_row_norm**2
    state = State.HOLDS if highest < 0.5 else State.UNKNOWN
    return Condition(statement, state, f"at most {highest:.3g} in the first epoch")
