"""Eq. 3 and what it takes: when the movement of the scores determines the inner products of the rows."""

from __future__ import annotations

from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, Condition, State, Theorem
from fedleak.theory.li2021.score_recovery import ScoreRecovery


def epochs_needed(n_rows: int, batch_size: int, n_features: int | None) -> int:
    """One recurring batch: an update a direction and one for the start. Several batches: a visit an unknown, N + 1."""
    if batch_size >= n_rows:
        return min(n_rows, n_features or n_rows) + 2
    return n_rows + 1


class GramRecovery(Theorem):
    """The paper reads C off eq. 3 as if one pair of rounds gave it; a pair gives m equations for m (m + 1) / 2
    unknowns.

    A recurring batch needs about n updates that are not collinear (the scores have rank n), shuffled mini-batches a
    visit of every row for each of N + 1 unknowns. Batches that recur without shuffling give a Krylov sequence: its
    condition is the limit.
    """

    name = "li2021/eq-3"
    summary = "with enough updates that are not collinear, the scores' movement determines all inner products"
    reference = Reference("li2021", "section 4.1, eq. 3")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        recovery = ScoreRecovery.assess(facts)
        return Assessment(
            cls.name,
            (*recovery.conditions, _enough_epochs(facts), _shuffled(facts)),
            conclusion="the inner products of all of the victim's rows are determined",
            remedy=recovery.remedy,
        )


def _enough_epochs(facts: Facts) -> Condition:
    statement = "there are enough epochs to solve for every inner product"
    if facts.n_rows is None or facts.batch_size is None or facts.n_epochs is None:
        return Condition(statement, State.UNKNOWN, "rows, batch size or epochs are not known")
    outside = [p.n_features for p in facts.parties if p.name not in facts.adversary and p.n_features]
    needed = epochs_needed(facts.n_rows, facts.batch_size, sum(outside) if outside else None)
    state = State.HOLDS if facts.n_epochs >= needed else State.FAILS
    return Condition(statement, state, f"{facts.n_epochs} epochs, {needed} needed")


def _shuffled(facts: Facts) -> Condition:
    """Recurring mini-batches end in a cycle; one batch of all rows is a case of its own."""
    statement = "batches are drawn anew in every epoch, or there is one batch only"
    if facts.n_rows is not None and facts.batch_size is not None and facts.batch_size >= facts.n_rows:
        return Condition(statement, State.HOLDS, "one batch of all rows")
    shuffle = facts.options.get("shuffle")
    if shuffle is None:
        return Condition(statement, State.UNKNOWN, "not known")
    return Condition(statement, State.HOLDS if shuffle else State.FAILS, f"shuffle is {str(shuffle).lower()}")
