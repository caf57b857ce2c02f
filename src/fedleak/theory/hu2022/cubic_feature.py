"""Theorem E.2: a single column under the cubic approximation."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, course_known, equals
from fedleak.theory.hu2022.ratios_within_batch import RatiosWithinBatch


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
                equals("the sigmoid is replaced by its cubic minimax polynomial", facts.approximation, "cubic"),
                at_most("there are two or more epochs", 2, facts.n_epochs),
                course_known(facts),
                joined_in_time("Q"),
            ),
            conclusion="every joined value of the column is determined, up to one global sign, in max(Q, 2) epochs",
            remedy="contribute two or more columns, or add noise to the shared scores",
        )


def joined_in_time(symbol: str) -> Condition:
    return Condition(
        f"all rows are joined by shared batches within {symbol} epochs of the run",
        State.UNKNOWN,
        "the paper assumes it; the attack counts the rows that it joined",
    )
