"""Theorem 3.6: two or more columns are hidden up to a rotation."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem
from fedleak.theory.hu2022.victim import several_outside_columns


class RotationHardness(Theorem):
    """Rotating the victim's rows and weights together changes no score, so no score tells them apart.

    What a rotation leaves alone is not protected: scores, and inner products of rows (their Gram matrix).
    """

    name = "hu2022/theorem-3.6"
    summary = "with two or more columns outside, the scores determine them only up to a rotation"
    reference = Reference("hu2022", "theorem 3.6")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (several_outside_columns(facts), _start_unknown(facts)),
            conclusion="infinitely many tables fit the scores: single values are not identifiable without further "
            "knowledge, while scores and inner products of rows are not protected",
        )


def _start_unknown(facts: Facts) -> Condition:
    """From zero weights the start is known; a rotation fixes zero, so the argument goes through unchanged."""
    statement = "the victim's first weights are unknown, or zero, which every rotation keeps"
    if facts.initialisation is None:
        return Condition(statement, State.UNKNOWN, "the initialisation is not known")
    return Condition(statement, State.HOLDS, f"initialisation {facts.initialisation}")
