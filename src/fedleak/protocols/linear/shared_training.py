"""Descent on secret shares: parties share rows, labels and weights modulo 2^64 and open none of them.

``descent_step`` is one program of exact integer arithmetic. The parties run it on shares; the audit, which knows all
numbers, runs it on the ideal ring first, and stops before anything is sent where a number would leave the ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import frexp

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.payload import Array
from fedleak.crypto import fixed_point
from fedleak.crypto.dealt_randomness import Dealer, split
from fedleak.crypto.ring_arithmetic import IdealRing, RingArithmetic, Words, plus, signed, word, words
from fedleak.crypto.shared_ring import SharedRing
from fedleak.crypto.sharing_cost import WORD_BYTES, CountingRing, SharingCost, masked_table, of_epochs
from fedleak.models.sigmoid import CUBIC, LINEAR, PIECEWISE_EDGE, Approximation
from fedleak.protocols.actor import Actor
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.member import Member

RATE_BITS = 20  # of the public factor of a step: the learning rate holds to 2^-20


@dataclass(frozen=True)
class Arithmetic:
    """What is public of every step."""

    approximation: Approximation
    fraction_bits: int
    learning_rate: float


@dataclass(frozen=True, eq=False)
class Held:
    """What there is of a model, a row a holder; ``noise`` is what parties add to the scores of the batch."""

    weights: Words
    signs: Words
    noise: Words


def descent_step(ring: RingArithmetic, held: Held, batch: IntArray, how: Arithmetic) -> tuple[Words, Words]:
    """The gradient, times the rows of the batch (four times that for ``taylor``), and the weights after the step."""
    bits = how.fraction_bits
    scores = ring.shift(ring.rows_times(batch, held.weights), bits) + held.noise
    residuals, scale = residuals_on(ring, scores, held.signs[:, batch], how)
    gradient = ring.shift(ring.times_rows(batch, residuals), bits)
    factor, places = public_rate(how.learning_rate / (scale * len(batch)))
    return gradient, held.weights - ring.shift(ring.scaled(gradient, factor), places)


def residuals_on(ring: RingArithmetic, scores: Words, signs: Words, how: Arithmetic) -> tuple[Words, float]:
    """Times a scale: f = z - 2y is four times the residual (eq. 5); halves of labels are whole in fixed point."""
    bits, half = how.fraction_bits, word(1 << (how.fraction_bits - 1))
    if how.approximation is Approximation.TAYLOR:
        return scores - signs * word(2 << bits), 4.0
    if how.approximation is Approximation.PIECEWISE:
        edge = int(PIECEWISE_EDGE * (1 << bits))
        return ring.clip(scores, edge) - signs * half, 1.0
    # c z^3 + l z = z (c z^2 + l), eq. 124
    cubic, slope = (round(value * (1 << bits)) for value in (CUBIC, LINEAR))
    squares = ring.shift(ring.multiply(scores, scores), bits)
    slopes = plus(ring.shift(ring.scaled(squares, cubic), bits), word(slope))
    return ring.shift(ring.multiply(scores, slopes), bits) - signs * half, 1.0


def public_rate(rate: float) -> tuple[int, int]:
    """An integer of RATE_BITS bits and a shift that together stand for the rate."""
    places = min(max(RATE_BITS - frexp(rate)[1], 1), 60)
    return round(rate * 2**places), places


def counted(how: Arithmetic, n_rows: int, n_columns: int, batch_size: int, epochs: int) -> SharingCost:
    """What all openings of a training come to, whatever its size."""
    steps = of_epochs(partial(_counted_step, how, n_columns), n_rows, batch_size, epochs)
    return masked_table(n_rows, n_columns).plus(steps)


def _counted_step(how: Arithmetic, n_columns: int, n_rows: int) -> SharingCost:
    ring = CountingRing(n_columns)
    weights, per_row = (np.zeros((1, size), dtype=np.uint64) for size in (n_columns, n_rows))
    descent_step(ring, Held(weights, per_row, per_row), np.arange(n_rows), how)
    return ring.cost


class SharedTraining:
    """The parties of one run, from their shares of the data to those of the model."""

    def __init__(self, members: Sequence[Member], how: Arithmetic) -> None:
        self._members = members
        self._how = how
        self.channel = PartyChannel([member.actor for member in members])
        shares = [_shared(member, members, how.fraction_bits) for member in members]
        table, self._weights, self._signs = _side_by_side(members, shares)
        self.dealer = dealer_for(members)
        self._check = IdealRing(summed(table))
        self._ring = SharedRing(table, self.dealer, self.channel)

    def run(self, batch: IntArray) -> None:
        """One step. ``weights`` of the members follow for the truth's sake; no party has a record of them."""
        held = Held(self._weights, self._signs, self._noise(batch))
        known = Held(summed(held.weights), summed(held.signs), summed(held.noise))
        descent_step(self._check, known, batch, self._how)  # raises before anything is sent
        gradient, self._weights = descent_step(self._ring, held, batch, self._how)
        opened = np.ldexp(signed(summed(self._weights)[0]).astype(np.float64), -self._how.fraction_bits)
        ends = np.cumsum([member.features.shape[1] for member in self._members])[:-1]
        parts = np.split(opened, ends)
        for place, (member, weights) in enumerate(zip(self._members, parts, strict=True)):
            member.actor.record(linear.GRADIENT, linear.GRADIENT_SHARE, Array(gradient[place]))
            member.actor.record(linear.UPDATE, linear.WEIGHT_SHARE, Array(self._weights[place]))
            member.weights = weights

    def _noise(self, batch: IntArray) -> Words:
        """What a defense has each party add to the scores: to its share of them."""
        nothing = np.zeros(len(batch))
        added = [member.actor.outgoing(linear.SHARED_SCORE, nothing) for member in self._members]
        return words(fixed_point.encode(np.array(added), self._how.fraction_bits))

    @property
    def cost(self) -> str:
        """Counted, for the report."""
        return f"{self.channel.told}; {told_by([self.dealer])}"


def dealer_for(members: Sequence[Member]) -> Dealer:
    """Each of them keeps what it is dealt."""

    def hand_out(dealt: Words) -> None:
        for member, mine in zip(members, dealt, strict=True):
            member.actor.record(linear.DEALT, linear.DEALT_WORDS, Array(mine))

    return Dealer(len(members), hand_out)


def told_by(dealers: Sequence[Dealer]) -> str:
    n_words, n_products, n_ands = (
        sum(getattr(dealer, name) for dealer in dealers) for name in ("n_words", "n_products", "n_ands")
    )
    return (
        f"the dealer handed out {WORD_BYTES * n_words:,} bytes to each: {n_products:,} products of numbers, "
        f"{n_ands:,} ands of 64 bits"
    )


class PartyChannel:
    """Openings as messages to everybody; what a party has opened is made of its own share and what it received."""

    def __init__(self, actors: Sequence[Actor]) -> None:
        self._actors = actors
        self.n_rounds = 0
        self.n_bytes = 0  # that each party sends to each other one

    @property
    def told(self) -> str:
        return f"{self.n_rounds:,} rounds of openings, {self.n_bytes:,} bytes from each party to each other one"

    def opened(self, shares: Words) -> Words:
        return reduce(np.add, self._exchanged(shares))

    def opened_bits(self, shares: Words) -> Words:
        return reduce(np.bitwise_xor, self._exchanged(shares))

    def opened_flags(self, shares: Words) -> Words:
        return reduce(np.bitwise_xor, self._exchanged(shares.astype(np.uint8))).astype(np.uint64)

    def _exchanged(self, shares: Words | np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> list[Words]:
        """For each sender what every party has of it, a row a party."""
        self.n_rounds += 1
        self.n_bytes += shares[0].nbytes
        sent = [
            actor.publish(linear.OPENING, Array(mine)).values for actor, mine in zip(self._actors, shares, strict=True)
        ]
        return [np.stack([one] * len(self._actors)) for one in sent]


def _shared(owner: Member, members: Sequence[Member], fraction_bits: int) -> Words:
    """The owner's rows, weights and signs, flat, a share a party; others get theirs in a message."""
    labels = np.empty(0) if owner.signs is None else owner.signs
    inputs = [fixed_point.encode(part, fraction_bits).ravel() for part in (owner.features, owner.weights)]
    flat = words(np.concatenate([*inputs, labels.astype(np.int64)]))
    found = split(flat, len(members))
    for member, share in zip(members, found, strict=True):
        if member is owner:
            owner.actor.record(linear.SHARED_DATA, linear.DATA_SHARE, Array(share))
        else:
            owner.actor.send(linear.SHARED_DATA, member.actor, Array(share))
    return found


def _side_by_side(members: Sequence[Member], shares: Sequence[Words]) -> tuple[Words, Words, Words]:
    """All columns, all weights, and the labels of the one who has them: a row a holder."""
    tables, weights, signs = [], [], []
    for member, flat in zip(members, shares, strict=True):
        n_rows, n_columns = member.features.shape
        cells = n_rows * n_columns
        tables.append(flat[:, :cells].reshape(len(flat), n_rows, n_columns))
        weights.append(flat[:, cells : cells + n_columns])
        if member.signs is not None:
            signs.append(flat[:, cells + n_columns :])
    return np.concatenate(tables, axis=2), np.concatenate(weights, axis=1), signs[0]


def summed(shares: Words) -> Words:
    """The numbers themselves, with one holder: the audit's, not a party's."""
    return np.add.reduce(shares, axis=0, keepdims=True, dtype=np.uint64)
