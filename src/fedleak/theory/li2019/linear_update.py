"""Section 3.2: an update over the same rows is an affine map of the model, and d + 1 rounds give it away."""

from __future__ import annotations

from math import lcm

from fedleak.core.attack import Reference
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, equals, revealed


def rounds_needed(n_columns: int, n_batches: int = 1) -> int:
    """Row i of the update has d unknowns of α and one of β, and each of the taking-turns batches its own.

    The paper says d pairs; it forgets β.
    """
    return n_batches * (n_columns + 1)


class LinearUpdate(Theorem):
    """Δ = λ(αθ/4 − β/2): α = XᵀX and β = XᵀY follow from d + 1 pairs (Δ, θ) in general position.

    General position is assumed: where all parties use all rows in every round, the models follow linear dynamics and
    become collinear. The attack reports the rank that it finds.
    """

    name = "li2019/section-3.2"
    summary = "d + 1 synchronised rounds over the same rows determine the inner products of all columns"
    reference = Reference("li2019", "section 3.2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        return Assessment(
            cls.name,
            (
                equals("parties send the gradient of one batch", _option(facts, "update"), "synchronised"),
                _enough_rounds(facts),
                _same_rows(facts),
                undisturbed(facts),
                revealed(Capability.UPDATE_SUM, facts),
            ),
            conclusion="α = XᵀX and β = XᵀY of the others' rows are determined",
            remedy="batches dealt anew in every round (shuffling), or noise on the updates",
        )


def n_columns(facts: Facts) -> int | None:
    counts = [party.n_features for party in facts.with_role(Role.ACTIVE)]
    return counts[0] if counts else None


def outside_rows(facts: Facts) -> tuple[int, ...] | None:
    """Rows of each party outside the coalition; the largest party's stand for a number that is not known."""
    outside = [party for party in facts.with_role(Role.ACTIVE) if party.name not in facts.adversary]
    counts = [facts.n_rows if party.n_rows is None else party.n_rows for party in outside]
    known = [count for count in counts if count is not None]
    return tuple(known) if known and len(known) == len(counts) else None


def n_batches(facts: Facts) -> int | None:
    """Rounds until the batches of all parties outside come round together, each party's taking turns."""
    rows = outside_rows(facts)
    if rows is None or not facts.batch_size:
        return None
    return lcm(*(-(-count // facts.batch_size) for count in rows))


def rows_of_update(facts: Facts) -> int | None:
    """Of all parties outside together: the sum hides whose rows are whose."""
    rows, size = outside_rows(facts), facts.batch_size
    return None if rows is None or not size else sum(min(size, count) for count in rows)


def undisturbed(facts: Facts) -> Condition:
    """Neither noise nor a choice of entries stands between the rows and the updates."""
    statement = "updates are sent whole and without noise"
    if "update" not in facts.options:
        return Condition(statement, State.UNKNOWN, "not a horizontal protocol that is known")
    noise, share = facts.options.get("update_noise"), facts.options.get("shared_fraction")
    if noise:
        return Condition(statement, State.FAILS, f"noise of standard deviation {noise}")
    if share:
        return Condition(statement, State.FAILS, f"a share of {share} of the entries is sent")
    return Condition(statement, State.HOLDS, "no such defense is declared")


def _option(facts: Facts, name: str) -> str | None:
    value = facts.options.get(name)
    return None if value is None else str(value)


def _enough_rounds(facts: Facts) -> Condition:
    columns, batches = n_columns(facts), n_batches(facts)
    rounds = _usable_rounds(facts, batches or 1)
    needed = None if columns is None or batches is None else rounds_needed(columns, batches)
    return at_most("rounds are d + 1 or more for each batch", needed, rounds)


def _usable_rounds(facts: Facts, batches: int) -> int | None:
    """Rounds with all parties outside in them, as many for each batch as the batch with the fewest has."""
    rounds = facts.options.get("rounds")
    if not isinstance(rounds, int):
        return None
    entries = [entry.rpartition(":") for entry in str(facts.options.get("dropouts") or "").split(",") if entry]
    lost = {int(number) for name, _, number in entries if name not in facts.adversary}
    if not lost:
        return rounds
    usable = [number % batches for number in range(rounds) if number not in lost]
    return batches * min(usable.count(batch) for batch in range(batches))


def _same_rows(facts: Facts) -> Condition:
    statement = "the others' batches are the same in every round"
    shuffled = facts.options.get("shuffled")
    if shuffled is None:
        return Condition(statement, State.UNKNOWN, "not known")
    outside = [name for name in str(shuffled).split(",") if name and name not in facts.adversary]
    whole = n_batches(facts) == 1
    state = State.HOLDS if not outside or whole else State.FAILS
    return Condition(statement, state, f"dealt anew by {', '.join(outside) or 'nobody'}")
