"""One column outside the coalition: ratios of its values, joined over epochs, determine it up to one sign.

Hu et al. 2022: ratios within a batch (lemma 3.3), after how many epochs shuffled batches join them (lemma 3.4), and the
scale, from how far one row's score moves (theorem 3.5).
"""

from __future__ import annotations

from math import ceil, exp, lgamma, log, log2

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.protocols.linear.vocabulary import LinearFacts
from fedleak.theory.condition import (
    Assessment,
    Condition,
    State,
    Theorem,
    approximated_by,
    at_most,
    batches_per_epoch,
    one_outside_column,
)
from fedleak.theory.countermeasures import VERTICAL
from fedleak.theory.label_signs import LabelBySign
from fedleak.theory.residual_equations import UniqueResiduals


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
            remedies=VERTICAL,
        )


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
            conclusion=_ratios_conclusion(facts),
            remedies=VERTICAL,
        )


def merging_conditions(facts: Facts, *, at_least_epochs: int = 1, extra_epochs: int = 0) -> tuple[Condition, ...]:
    """s >= 2, batches drawn anew, and enough epochs (``extra_epochs`` beyond the lemma's)."""
    n_batches = batches_per_epoch(facts)
    needed = None if n_batches is None else max(epochs_to_merge(n_batches), at_least_epochs) + extra_epochs
    return (
        at_most("a batch has two or more rows", 2, facts.batch_size),
        _shuffled(facts, n_batches),
        _likely(facts, needed),
        at_most("there are epochs enough for the batches to intertwine", needed, facts.n_epochs),
    )


LIKELY = 0.95  # from this probability on, what is left to the drawing of batches counts as certain


def _likely(facts: Facts, epochs: int | None) -> Condition:
    """Of few rows some set of batches is regrouped into itself now and then, and its ratios stay apart."""
    statement = f"batches intertwine with probability {LIKELY:g} or more"
    n_batches = batches_per_epoch(facts)
    if n_batches is None or facts.batch_size is None or epochs is None:
        return Condition(statement, State.UNKNOWN, "rows or batch size are not known")
    chance = 1 - regrouping_bound(n_batches, facts.batch_size, epochs=epochs)
    return Condition(statement, State.HOLDS if chance >= LIKELY else State.UNKNOWN, f"at least {chance:.4g}")


def _shuffled(facts: Facts, n_batches: int | None) -> Condition:
    statement = "batches are drawn anew in every epoch"
    if n_batches == 1:
        return Condition(statement, State.HOLDS, "one batch holds all rows")
    shuffle = facts.of(LinearFacts).shuffle
    if shuffle is None:
        return Condition(statement, State.UNKNOWN, "not known")
    return Condition(statement, State.HOLDS if shuffle else State.FAILS, f"shuffle = {str(shuffle).lower()}")


def _ratios_conclusion(facts: Facts) -> str:
    n_batches = batches_per_epoch(facts)
    if n_batches is None or facts.batch_size is None:
        return "the ratio of any two rows is determined with high probability"
    epochs = epochs_to_merge(n_batches)
    failure = regrouping_bound(n_batches, facts.batch_size, epochs=epochs)
    return f"all ratios are determined within {epochs} epochs, with probability at least {1 - failure:.6g}"


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
                approximated_by("taylor", facts),
                *merging_conditions(facts, at_least_epochs=2, extra_epochs=1 if zero_start else 0),
            ),
            conclusion=_values_conclusion(facts, zero_start),
            remedies=VERTICAL,
        )


def _values_conclusion(facts: Facts, zero_start: bool) -> str:
    n_batches = batches_per_epoch(facts)
    if n_batches is None or facts.batch_size is None:
        return "every non-zero value of the column is determined up to one global sign"
    epochs = epochs_for_values(n_batches, zero_start=zero_start)
    failure = regrouping_bound(n_batches, facts.batch_size, epochs=epochs)
    return (
        f"every non-zero value of the column is determined, up to one global sign, within {epochs} epochs "
        f"with probability at least {1 - failure:.6g}"
    )


def labels_known(facts: Facts) -> Condition:
    """The label party has them; another party may have found them first (remark 4.9)."""
    statement = "the adversary has the labels, its own or recovered by their sign (remark 4.9)"
    if facts.capabilities is None:
        return Condition(statement, State.UNKNOWN, "what the protocol reveals is not known")
    if Capability.LABELS in facts.capabilities:
        return Condition(statement, State.HOLDS, "the adversary is the label party, or colludes with it")
    by_sign = LabelBySign.assess(facts).state
    state = State.HOLDS if by_sign is State.HOLDS else State.UNKNOWN
    return Condition(statement, state, f"{LabelBySign.name} {by_sign.value}")


def regrouping_bound(n_batches: int, batch_size: int, *, epochs: int) -> float:
    """Upper bound on the probability that some sortable set of batches is regrouped into itself (lemma 3.4).

    Eq. 78 gives 1 / C(ms, s) for each of the at most m sets alive at the start of an epoch, halved in
    each following one: the sum is at most 2 m / C(ms, s), which is tighter than the paper's 2 / m^(s - 1).
    """
    if n_batches <= 1:
        return 0.0
    alive = sum(max(n_batches * 0.5**epoch, 2.0) for epoch in range(max(epochs - 1, 1)))
    n_rows = n_batches * batch_size
    log_choices = lgamma(n_rows + 1) - lgamma(batch_size + 1) - lgamma(n_rows - batch_size + 1)
    return min(1.0, exp(log(alive) - log_choices))
