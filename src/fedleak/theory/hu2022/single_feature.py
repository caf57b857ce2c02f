"""Theorem 3.5: a single column is determined up to one sign."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Theorem, equals
from fedleak.theory.hu2022.merged_ratios import epochs_to_merge, merging_conditions
from fedleak.theory.hu2022.ratios_within_batch import RatiosWithinBatch
from fedleak.theory.hu2022.victim import batches_per_epoch, regrouping_bound


def epochs_for_values(n_batches: int, *, zero_start: bool) -> int:
    """max(ceil(log2 m) + 1, 2), and one more from zero weights, where the first batch reads 0 / 0.

    The paper's count assumes that every batch of the first epoch gives ratios.
    """
    return max(epochs_to_merge(n_batches), 2) + (1 if zero_start else 0)


class SingleFeature(Theorem):
    """The change of one row's score over an epoch gives the scale (eq. 13), the ratios the rest."""

    name = "hu2022/theorem-3.5"
    aliases = ("hu2022/remark-4.9",)
    summary = "a single column outside the coalition is determined up to one global sign"
    reference = Reference("hu2022", "theorem 3.5 and remark 4.9")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        zero_start = facts.initialisation == "zero"
        return Assessment(
            cls.name,
            (
                *RatiosWithinBatch.assess(facts).conditions,
                equals("the sigmoid is replaced by its first-order Taylor polynomial", facts.approximation, "taylor"),
                *merging_conditions(facts, at_least_epochs=2, extra_epochs=1 if zero_start else 0),
            ),
            conclusion=_conclusion(facts, zero_start),
            remedy="contribute two or more columns, or add noise to the shared scores",
        )


def _conclusion(facts: Facts, zero_start: bool) -> str:
    n_batches = batches_per_epoch(facts)
    if n_batches is None or facts.batch_size is None:
        return "every non-zero value of the column is determined up to one global sign"
    epochs = epochs_for_values(n_batches, zero_start=zero_start)
    failure = regrouping_bound(n_batches, facts.batch_size, epochs=epochs)
    return (
        f"every non-zero value of the column is determined, up to one global sign, within {epochs} epochs "
        f"with probability at least {1 - failure:.6g}"
    )
