"""Lemma 3.3: with one column outside, its values are known up to a factor within every batch."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Theorem
from fedleak.theory.hu2022.unique_residuals import UniqueResiduals
from fedleak.theory.hu2022.victim import labels_known, one_outside_column


class RatiosWithinBatch(Theorem):
    """g_i / g_j = x_i / x_j for two rows of a batch, since both are multiples of one weight.

    A row whose value is zero has no ratio to others, and from zero weights the first batch reads 0 / 0.
    """

    name = "hu2022/lemma-3.3"
    summary = "with one column outside the coalition, ratios of its values within a batch are determined"
    reference = Reference("hu2022", "lemma 3.3")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (*UniqueResiduals.assess(facts).conditions, one_outside_column(facts), labels_known(facts)),
            conclusion="the ratio of any two non-zero values of a batch is determined",
            remedy="contribute two or more columns",
        )
