"""Corollary 3.2: a gradient over few rows gives away the residual of each row."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, Theorem, at_most, no_noise, revealed


def batch_within_columns(facts: Facts) -> Condition:
    """s <= d: as many equations as unknowns."""
    return at_most("batch size is at most the adversary's features", facts.batch_size, facts.n_adversary_features)


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
        width = facts.n_adversary_features
        return Assessment(
            cls.name,
            (
                batch_within_columns(facts),
                revealed(Capability.OWN_GRADIENT, facts),
                no_noise(facts),
            ),
            conclusion="every residual of every batch is determined",
            remedy="" if width is None else f"batch_size = {width + 1} or more (a dishonest partner can undo this)",
        )
