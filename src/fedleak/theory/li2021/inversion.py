"""The chain of section 4: scores, inner products, stolen weights, known cells."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, State, Theorem, revealed
from fedleak.theory.li2021.gram_recovery import GramRecovery


class VerticalInversion(Theorem):
    """Whether the known cells suffice depends on how many and where; the attack counts the solutions that remain."""

    name = "li2021/section-4.4"
    summary = "inner products, stolen weights and a few known cells determine the victim's table"
    reference = Reference("li2021", "section 4.4")

    @classmethod
    def assess(cls, facts: Facts, *, enough_columns: bool = False) -> Assessment:
        """``enough_columns`` is the case in which the adversary adds fake ones."""
        gram = GramRecovery.assess(facts)
        conditions = gram.conditions
        if enough_columns:
            conditions = tuple(c for c in conditions if not c.statement.startswith("batch size is at most"))
        conditions = (*conditions, revealed(Capability.KNOWN_CELLS, facts))
        found = Assessment(cls.name, conditions, conclusion="", remedy=gram.remedy)
        certain = found.state is State.HOLDS
        return Assessment(
            cls.name,
            conditions,
            conclusion="the victim's table, if the known cells are enough" if certain else "nothing",
            remedy="" if enough_columns else gram.remedy,
        )
