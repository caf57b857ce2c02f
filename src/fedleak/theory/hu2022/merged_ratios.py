"""Lemma 3.4: after how many epochs the batches' ratios join into one."""

from __future__ import annotations

from math import ceil, log2

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most
from fedleak.theory.hu2022.ratios_within_batch import RatiosWithinBatch
from fedleak.theory.hu2022.victim import batches_per_epoch, regrouping_bound


def epochs_to_merge(n_batches: int) -> int:
    """ceil(log2 m) + 1: every epoch at least halves the number of sets with known ratios."""
    return ceil(log2(n_batches)) + 1 if n_batches > 1 else 1


class MergedRatios(Theorem):
    name = "hu2022/lemma-3.4"
    summary = "shuffled batches join all ratios of the column within about log2(batches) epochs"
    reference = Reference("hu2022", "lemma 3.4")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (*RatiosWithinBatch.assess(facts).conditions, *merging_conditions(facts)),
            conclusion=_conclusion(facts),
            remedy="contribute two or more columns, or keep the batches the same in every epoch",
        )


def merging_conditions(facts: Facts, *, at_least_epochs: int = 1, extra_epochs: int = 0) -> tuple[Condition, ...]:
    """s >= 2, batches drawn anew, and enough epochs (``extra_epochs`` beyond the lemma's)."""
    n_batches = batches_per_epoch(facts)
    needed = None if n_batches is None else max(epochs_to_merge(n_batches), at_least_epochs) + extra_epochs
    return (
        at_most("a batch has two or more rows", 2, facts.batch_size),
        _shuffled(facts, n_batches),
        at_most("there are epochs enough for the batches to intertwine", needed, facts.n_epochs),
    )


def _shuffled(facts: Facts, n_batches: int | None) -> Condition:
    statement = "batches are drawn anew in every epoch"
    if n_batches == 1:
        return Condition(statement, State.HOLDS, "one batch holds all rows")
    shuffle = facts.options.get("shuffle")
    if not isinstance(shuffle, bool):
        return Condition(statement, State.UNKNOWN, "not known")
    return Condition(statement, State.HOLDS if shuffle else State.FAILS, f"shuffle = {str(shuffle).lower()}")


def _conclusion(facts: Facts) -> str:
    n_batches = batches_per_epoch(facts)
    if n_batches is None or facts.batch_size is None:
        return "the ratio of any two rows is determined with high probability"
    epochs = epochs_to_merge(n_batches)
    failure = regrouping_bound(n_batches, facts.batch_size, epochs=epochs)
    return f"all ratios are determined within {epochs} epochs, with probability at least {1 - failure:.6g}"
