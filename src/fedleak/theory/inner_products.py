"""From scores to rows, section 4 of Li et al. 2021: when their movement gives the rows' inner products, and what then.

Eq. 3 gives the inner products, stolen weights and known cells the table (section 4.4).
"""

from __future__ import annotations

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.protocols.linear.vocabulary import LinearFacts
from fedleak.theory.condition import Assessment, Condition, State, Theorem, course_known, revealed
from fedleak.theory.countermeasures import UNOPENED
from fedleak.theory.residual_equations import ScoreRecovery


def epochs_needed(n_rows: int, batch_size: int, n_features: int | None) -> int:
    """One recurring batch: an update a direction and one for the start. Several batches: a visit an unknown, N + 1."""
    if batch_size >= n_rows:
        return min(n_rows, n_features or n_rows) + 2
    return n_rows + 1


def n_unknowns(n_rows: int, width: int) -> int:
    """Cells and first weights, less the rotations: what a search for the rows themselves has to find.

    N rows span N dimensions at most, and only what lies in them shows in a score: with more columns than rows it is
    the N (N + 1) / 2 inner products and the N first scores.
    """
    width = min(width, n_rows)
    return n_rows * width + width - width * (width - 1) // 2


class GramRecovery(Theorem):
    """The paper reads C off eq. 3 as if one pair of rounds gave it; a pair gives m equations for m (m + 1) / 2
    unknowns.

    A recurring batch needs about n updates that are not collinear (the scores have rank n), shuffled mini-batches a
    visit of every row for each of N + 1 unknowns. With fewer epochs a search for the rows themselves may succeed.
    Batches that recur without shuffling give a Krylov sequence: its condition is the limit.
    """

    name = "li2021/eq-3"
    summary = "with enough updates that are not collinear, the scores' movement determines all inner products"
    reference = Reference("li2021", "section 4.1, eq. 3")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        recovery = ScoreRecovery.assess(facts)
        return Assessment(
            cls.name,
            (*recovery.conditions, course_known(facts), _enough_epochs(facts), _shuffled_or_one_batch(facts)),
            conclusion="the inner products of all of the victim's rows are determined",
            remedies=UNOPENED,
        )


def _enough_epochs(facts: Facts) -> Condition:
    """Below the epochs of a linear solve a search may find the rows: it needs as many scores as it has unknowns."""
    statement = "there are enough epochs to solve for every inner product"
    if facts.n_rows is None or facts.batch_size is None or facts.n_epochs is None:
        return Condition(statement, State.UNKNOWN, "rows, batch size or epochs are not known")
    outside = [p.n_features for p in facts.parties if p.name not in facts.adversary and p.n_features]
    needed = epochs_needed(facts.n_rows, facts.batch_size, sum(outside) if outside else None)
    detail = f"{facts.n_epochs} epochs, {needed} needed"
    if facts.n_epochs >= needed:
        return Condition(statement, State.HOLDS, detail)
    if not outside:
        return Condition(statement, State.UNKNOWN, f"{detail}; the partner's columns are not known")
    least = _least_epochs(facts.n_rows, facts.batch_size, sum(outside))
    if facts.n_epochs >= least:
        return Condition(statement, State.UNKNOWN, f"{detail}; {least} or more may do")
    return Condition(statement, State.FAILS, detail)


def _least_epochs(n_rows: int, batch_size: int, width: int) -> int:
    """With fewer there are fewer equations than unknowns. One batch: its scores span the n directions, and each update
    has n equations for n (n + 1) / 2 inner products. Several: what a search for the rows has to find."""
    if batch_size < n_rows:
        return -(-n_unknowns(n_rows, width) // n_rows)
    rank = min(n_rows, width)
    return max(rank, -(-(rank + 1) // 2) + 1)


def _shuffled_or_one_batch(facts: Facts) -> Condition:
    """Recurring mini-batches end in a cycle, which leaves the linear solve open and only a search; one batch of all
    rows is a case of its own."""
    statement = "batches are drawn anew in every epoch, or there is one batch only"
    if facts.n_rows is not None and facts.batch_size is not None and facts.batch_size >= facts.n_rows:
        return Condition(statement, State.HOLDS, "one batch of all rows")
    shuffle = facts.of(LinearFacts).shuffle
    if shuffle is None:
        return Condition(statement, State.UNKNOWN, "not known")
    return Condition(statement, State.HOLDS if shuffle else State.UNKNOWN, f"shuffle is {str(shuffle).lower()}")


def enough_cells() -> Condition:
    return Condition(
        "the known cells leave one table", State.UNKNOWN, "how many there are, and where, shows only in the run"
    )


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
        conditions = (*conditions, revealed(Capability.KNOWN_CELLS, facts), enough_cells())
        found = Assessment(cls.name, conditions, conclusion="")
        certain = found.state is State.HOLDS
        return Assessment(
            cls.name,
            conditions,
            conclusion="the victim's table, if the known cells are enough" if certain else "nothing",
            remedies=gram.remedies,
        )
