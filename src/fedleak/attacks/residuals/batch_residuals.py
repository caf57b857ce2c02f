"""Residuals of every round, by whatever way the view offers: opened shares of a deviating party, or own gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.attacks.residuals.batch_systems import DEFAULT_FRACTION_BITS, SolvedBatch, batch_systems, has_record, solve
from fedleak.attacks.residuals.own_side import OwnScore
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, IntegerArray, Scalar
from fedleak.core.steps import DATA_ROLES, LABELS
from fedleak.core.view import View
from fedleak.crypto import packing
from fedleak.models.sigmoid import CUBIC, LINEAR, Approximation
from fedleak.protocols.linear import vocabulary as linear


def solved_batches(view: View) -> Iterator[SolvedBatch]:
    """In the order of the rounds. A residual that the view does not determine is NaN."""
    member = deviating_member(view)
    if member is None:
        for system in batch_systems(view):
            yield solve(system, view.facts.fraction_bits)
    else:
        yield from _from_opened_shares(view, member)


def deviating_member(view: View) -> str | None:
    """The member of the coalition that tried to open its partners' shares, if one did."""
    for member in view.coalition:
        names = view.names(member)
        if any(linear.SHARES_FROM.covers(name) or linear.PACKING.covers(name) for name in names):
            return member
    return None


def approximation_of(view: View) -> Approximation:
    return approximation_in(view.facts)


def approximation_in(facts: Facts) -> Approximation:
    return Approximation(facts.approximation or "taylor")


def _from_opened_shares(view: View, member: str) -> Iterator[SolvedBatch]:
    """A round that packed products did not open is solved by the gradient, unless that came out without the partners'
    part: then nothing is known of it."""
    opened = opened_sums(view, member)
    lost = lost_rounds(view, member)
    unopened = {system.round: system for system in batch_systems(view)} if _rounds(view) - set(opened) else {}
    own = OwnScore(view, (member,))
    for message in view.at(linear.BATCH):
        if not isinstance(message.payload, Array):
            continue
        ids = np.asarray(message.payload.values, dtype=np.int64)
        if message.round in opened:
            signs = own.signs if has_record(view, LABELS, member) else None
            yield _by_shares(view, own, signs, message.round, ids, opened[message.round])
        elif message.round in unopened and message.round not in lost:
            yield solve(unopened[message.round], view.facts.fraction_bits)
        else:
            yield SolvedBatch(message.round, ids, np.full(len(ids), np.nan), 0, float("inf"), float("inf"))


def _by_shares(
    view: View, own: OwnScore, signs: FloatArray | None, number: int, ids: IntArray, shares: FloatArray
) -> SolvedBatch:
    """f = own share + the partners' shares (eq. 5); exact, but for the rounding of the shares themselves."""
    rows = own.positions(ids)
    signs = None if signs is None else signs[rows]
    residuals = _residuals_of_shares(own.scores(number, rows), signs, shares, approximation_of(view), len(ids))
    error = len(view.facts.parties) * 2.0 ** -(view.facts.fraction_bits or DEFAULT_FRACTION_BITS)
    return SolvedBatch(number, ids, residuals, len(ids), 1.0, error)


def _rounds(view: View) -> set[int]:
    return {message.round for message in view.at(linear.BATCH)}


def lost_rounds(view: View, member: str) -> set[int]:
    """Rounds in which a value overflowed its slot: the member's gradient lacks that partner's part."""
    return {
        record.round
        for record in view.records(linear.PACKING, member)
        if isinstance(record.value, Scalar) and record.value.value == linear.PRODUCT_LOST
    }


def _residuals_of_shares(
    own: FloatArray, signs: FloatArray | None, shares: FloatArray, approximation: Approximation, n_rows: int
) -> FloatArray:
    if approximation is Approximation.TAYLOR:
        label_part = 0.0 if signs is None else 2.0 * signs
        return (own - label_part + shares) / 4
    # The cubic exchange sends three vectors: powers of the score, or at the label party its own part of the residual
    # and two powers.
    first, second, third = shares.reshape(3, n_rows)
    if signs is None:  # eq. 124 with the square bracket multiplied out
        return first + 3 * CUBIC * (own**2 * second + own * third) + CUBIC * own**3 + LINEAR * own
    score = own + first
    return CUBIC * score**3 + LINEAR * score - signs / 2


def opened_sums(view: View, member: str) -> dict[int, FloatArray]:
    """By round: the sum of all partners' shares, in which their pairwise blinds cancel."""
    by_round: dict[int, list[IntegerArray]] = {}
    for record in view.locals.get(member, ()):
        if linear.SHARES_FROM.covers(record.name) and isinstance(record.value, IntegerArray):
            by_round.setdefault(record.round, []).append(record.value)
    # Of all partners, also of one that never fitted its slots: without it the others' blinds would not cancel.
    n_partners = sum(party.role in DATA_ROLES and party.name != member for party in view.facts.parties)
    fraction_bits = view.facts.fraction_bits or 40
    complete = {number: parts for number, parts in by_round.items() if len(parts) == n_partners}
    return {number: packing.sum_of_opened_shares(parts, fraction_bits) for number, parts in complete.items()}


def first_known(batches: Iterator[SolvedBatch], *, silent: float = 0.0) -> tuple[IntArray, IntArray, FloatArray]:
    """Each row's first determined residual above ``silent``: row ids in order, the round, the residual."""
    first: dict[int, tuple[int, float]] = {}
    for batch in batches:
        for row, value in zip(batch.ids.tolist(), batch.residuals.tolist(), strict=True):
            if row not in first and np.isfinite(value) and abs(value) > silent:
                first[row] = (batch.round, value)
    ids = np.array(sorted(first), dtype=np.int64)
    rounds = np.array([first[int(row)][0] for row in ids], dtype=np.int64)
    return ids, rounds, np.array([first[int(row)][1] for row in ids])


def sum_known(batches: Iterator[SolvedBatch]) -> tuple[IntArray, IntArray, FloatArray]:
    """Each row's sum of determined residuals (the log odds of a label add up over rounds), with its last round."""
    found: dict[int, tuple[int, float]] = {}
    for batch in batches:
        for row, value in zip(batch.ids.tolist(), batch.residuals.tolist(), strict=True):
            if np.isfinite(value):
                found[row] = (batch.round, found.get(row, (0, 0.0))[1] + value)
    ids = np.array(sorted(found), dtype=np.int64)
    rounds = np.array([found[int(row)][0] for row in ids], dtype=np.int64)
    return ids, rounds, np.array([found[int(row)][1] for row in ids])
