"""Residuals of every round, by whatever way the view offers: opened shares of a deviating party, or its gradient."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.attacks.training.own_gradient import SolvedBatch, batch_systems, solve
from fedleak.attacks.training.own_score import OwnScore
from fedleak.core import steps
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import Array, IntegerArray
from fedleak.core.view import View
from fedleak.crypto import opened_shares
from fedleak.models.sigmoid import CUBIC, LINEAR, Approximation


def solved_batches(view: View) -> Iterator[SolvedBatch]:
    """In the order of the rounds. A residual that the view does not determine is NaN."""
    member = deviating_member(view)
    if member is None:
        for system in batch_systems(view):
            yield solve(system, view.facts.fraction_bits)
    else:
        yield from _from_opened_shares(view, member)


def deviating_member(view: View) -> str | None:
    """The member of the coalition that opened its partners' shares, if one did."""
    for member in view.coalition:
        if any(name.startswith(opened_shares.PREFIX) for name in view.names(member)):
            return member
    return None


def approximation_of(view: View) -> Approximation:
    return Approximation(view.facts.approximation or "taylor")


def _from_opened_shares(view: View, member: str) -> Iterator[SolvedBatch]:
    """f = own share + the partners' shares (eq. 5); exact, but for the rounding of the shares themselves."""
    own = OwnScore(view, (member,))
    opened = opened_sums(view, member)
    fraction_bits = view.facts.fraction_bits or 40
    holds_labels = any(True for _ in view.records("labels", member))
    for message in view.at(steps.BATCH):
        if message.round not in opened or not isinstance(message.payload, Array):
            continue
        ids = np.asarray(message.payload.values, dtype=np.int64)
        rows = own.positions(ids)
        signs = own.signs[rows] if holds_labels and own.signs is not None else None
        residuals = _residuals(
            own.scores(message.round, rows), signs, opened[message.round], approximation_of(view), len(ids)
        )
        error = len(view.facts.parties) * 2.0**-fraction_bits
        yield SolvedBatch(message.round, ids, residuals, len(ids), 1.0, error)


def _residuals(
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
        if record.name.startswith(opened_shares.PREFIX) and isinstance(record.value, IntegerArray):
            by_round.setdefault(record.round, []).append(record.value)
    n_partners = max((len(parts) for parts in by_round.values()), default=0)
    fraction_bits = view.facts.fraction_bits or 40
    complete = {number: parts for number, parts in by_round.items() if len(parts) == n_partners}
    return {number: opened_shares.decoded_sum(parts, fraction_bits) for number, parts in complete.items()}


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
