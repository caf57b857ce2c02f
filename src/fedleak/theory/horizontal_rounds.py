"""Rounds of horizontal training: over the same rows the model moves by an affine map, which enough rounds give away.

Summed gradients give X^T X and X^T Y (section 3.2 of Li et al. 2019), averages of whole models X^T X, and known cells
then the rows (section 4.2 of Li et al. 2021).
"""

from __future__ import annotations

from math import lcm

from fedleak.core.adversary import Capability
from fedleak.core.attack import Reference
from fedleak.core.facts import Facts
from fedleak.core.steps import Role
from fedleak.protocols.averaging.vocabulary import (
    SYNCHRONISED,
    HorizontalFacts,
    HorizontalLogisticFacts,
)
from fedleak.theory.condition import Assessment, Condition, State, Theorem, at_most, equals, revealed
from fedleak.theory.countermeasures import MORE_PARTIES, UPDATE_NOISE
from fedleak.theory.inner_products import enough_cells


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
                equals(
                    "parties send the gradient of one batch", facts.of(HorizontalLogisticFacts).update, SYNCHRONISED
                ),
                equals("a row's gradient is linear in the model", facts.approximation, "taylor"),
                _enough_rounds(facts),
                batches_recur(facts, "the others' batches are the same in every round", "dealt anew by "),
                _same_rows_once(facts),
                undisturbed(facts),
                revealed(Capability.UPDATE_SUM, facts),
                _directions(),
            ),
            conclusion="α = XᵀX and β = XᵀY of the others' rows are determined",
            remedies=(UPDATE_NOISE,),
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
    own = facts.of(HorizontalLogisticFacts)
    if own.update is None:
        return Condition(statement, State.UNKNOWN, "not a horizontal protocol that is known")
    noise, share = own.update_noise, own.shared_fraction
    if noise:
        return Condition(statement, State.FAILS, f"noise of standard deviation {noise}")
    if share:
        return Condition(statement, State.FAILS, f"a share of {share} of the entries is sent")
    return Condition(statement, State.HOLDS, "no such defense is declared")


def batches_recur(facts: Facts, statement: str, detail: str = "") -> Condition:
    """Nobody outside deals its rows to batches anew, or each has one batch only; ``detail`` stands before the names."""
    shuffled = facts.of(HorizontalFacts).shuffled
    if shuffled is None:
        return Condition(statement, State.UNKNOWN, "not known")
    outside = [name for name in shuffled if name not in facts.adversary]
    state = State.HOLDS if not outside or n_batches(facts) == 1 else State.FAILS
    return Condition(statement, state, f"{detail}{', '.join(outside) or 'nobody'}")


def _directions() -> Condition:
    """Somebody who draws new batches keeps the models apart; by how many digits shows only in the run."""
    statement = "the models differ in every direction by more than rounding"
    return Condition(statement, State.UNKNOWN, "it depends on the data, the rate and who draws new batches")


def _same_rows_once(facts: Facts) -> Condition:
    """Batches that take turns are told apart, and add up to all rows once, where everybody outside has as many."""
    statement = "everybody outside has as many batches"
    rows = outside_rows(facts)
    if rows is None or not facts.batch_size:
        return Condition(statement, State.UNKNOWN, "rows or batch size are not known")
    counts = [-(-count // facts.batch_size) for count in rows]
    state = State.HOLDS if len(set(counts)) == 1 else State.UNKNOWN
    return Condition(statement, state, f"{', '.join(str(count) for count in counts)} batches")


def _enough_rounds(facts: Facts) -> Condition:
    columns, batches = n_columns(facts), n_batches(facts)
    rounds = _usable_rounds(facts, batches or 1)
    needed = None if columns is None or batches is None else rounds_needed(columns, batches)
    return at_most("rounds are d + 1 or more for each batch", needed, rounds)


def _usable_rounds(facts: Facts, batches: int) -> int | None:
    """Rounds with all parties outside in them, as many for each batch as the batch with the fewest has."""
    own = facts.of(HorizontalLogisticFacts)
    rounds = own.rounds
    if rounds is None:
        return None
    lost = {dropout.round for dropout in own.dropouts or () if dropout.party not in facts.adversary}
    if not lost:
        return rounds
    usable = [number % batches for number in range(rounds) if number not in lost]
    return batches * min(usable.count(batch) for batch in range(batches))


class HorizontalInversion(Theorem):
    """The degrees of freedom are m(m-1)/2 with the roles of rows and columns exchanged; the paper's other condition,
    that the averages determine X^T X, fails for full-batch training by everybody: the models then follow a Krylov
    sequence.
    """

    name = "li2021/section-4.2"
    summary = "averages without the own part give the victim's X^T X, and known cells its rows"
    reference = Reference("li2021", "section 4.2")

    @classmethod
    def assess(cls, facts: Facts) -> Assessment:
        widths = [party.n_features for party in facts.parties if party.role is Role.ACTIVE and party.n_features]
        # n (n + 1) / 2 + n unknowns, n equations a round
        needed = None if not widths else (widths[0] + 1) // 2 + 2
        return Assessment(
            cls.name,
            (
                revealed(Capability.AVERAGED_WEIGHTS, facts),
                revealed(Capability.KNOWN_CELLS, facts),
                _victim_alone(facts),
                at_most("there are enough rounds to solve for X^T X", needed, facts.of(HorizontalFacts).rounds),
                _excited(facts),
                enough_cells(),
            ),
            conclusion="the victim's rows, if the known cells are enough",
            remedies=(MORE_PARTIES,),
        )


def _victim_alone(facts: Facts) -> Condition:
    statement = "the coalition can take everything but the victim's part out of the average"
    outside = [p.name for p in facts.parties if p.role is Role.ACTIVE and p.name not in facts.adversary]
    if len(outside) <= 1:
        return Condition(statement, State.HOLDS, f"outside: {', '.join(outside)}")
    server = any(p.role is Role.SERVER and p.name in facts.adversary for p in facts.parties)
    plain = facts.of(HorizontalFacts).secure_aggregation is False
    state = State.HOLDS if server and plain else State.FAILS
    return Condition(
        statement, state, f"outside: {', '.join(outside)}; the server sees single models: {server and plain}"
    )


def _excited(facts: Facts) -> Condition:
    statement = "somebody in the coalition draws a new mini-batch in every round"
    shuffled = facts.of(HorizontalFacts).shuffled
    if shuffled is None:
        return Condition(statement, State.UNKNOWN, "not known")
    mine = [name for name in shuffled if name in facts.adversary and _several_batches(facts, name)]
    detail = ", ".join(mine) or "nobody: the models turn collinear, and rounding decides"
    return Condition(statement, State.HOLDS if mine else State.UNKNOWN, detail)


def _several_batches(facts: Facts, name: str) -> bool:
    """A single batch is the same however it is drawn."""
    n_rows = facts.n_rows if facts.party(name).n_rows is None else facts.party(name).n_rows
    return bool(n_rows and facts.batch_size and n_rows > facts.batch_size)
