"""Theorem F.1: a single column under the piecewise linear approximation."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Theorem, at_most, course_known, equals
from fedleak.theory.hu2022.cubic_feature import joined_in_time
from fedleak.theory.hu2022.ratios_within_batch import RatiosWithinBatch


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
                equals("the sigmoid is replaced by a piecewise linear function", facts.approximation, "piecewise"),
                at_most("there are two or more epochs", 2, facts.n_epochs),
                course_known(facts),
                joined_in_time("R"),
            ),
            conclusion="every joined value of the column is determined, up to one global sign, in max(R, 2) epochs",
            remedy="contribute two or more columns, or add noise to the shared scores",
        )
