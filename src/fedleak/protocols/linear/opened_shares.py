"""Gradients that parties compute on shares modulo 2^64 and open, each to its owner alone.

Scores add up over the parties, so what a party has of them is its share of the sum; of a table that one party owns the
others' shares are zero. Nothing has to be handed round first, and all that everybody sees is masked by fresh words of
the dealer. A party's own scores enter its own gradient without the noise that it adds for others (algorithm 3 of Hu et
al. 2022), so that every receiver has residuals of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.payload import Array
from fedleak.crypto import fixed_point
from fedleak.crypto.ring_arithmetic import IdealRing, RingArithmetic, Words, check_range, signed, sizes, words
from fedleak.crypto.shared_ring import SharedRing
from fedleak.crypto.sharing_cost import WORD_BYTES, CountingRing, SharingCost, masked_table, of_epochs
from fedleak.protocols.linear import vocabulary as linear
from fedleak.protocols.linear.member import Member
from fedleak.protocols.linear.shared_training import (
    Arithmetic,
    PartyChannel,
    dealer_for,
    residuals_on,
    summed,
    told_by,
)


def gradient_shares(
    rings: Sequence[RingArithmetic], scores: Words, signs: Words, batch: IntArray, how: Arithmetic
) -> tuple[list[Words], float]:
    """Sums over the batch of residual times row, one for each ring's table, and the scale of the residuals.

    ``scores`` are (holders, tables, rows), ``signs`` (holders, rows). Sums are not rounded: they have the fraction
    bits of both factors.
    """
    residuals, scale = residuals_on(rings[0], scores, signs[:, None], how)
    return [ring.times_rows(batch, residuals[:, place]) for place, ring in enumerate(rings)], scale


def counted_openings(
    how: Arithmetic, n_rows: int, widths: Sequence[int], batch_size: int, epochs: int
) -> tuple[SharingCost, int]:
    """What everybody opens in a training, and the bytes of gradients' shares that all parties together receive."""
    wide = [width for width in widths if width]
    found = of_epochs(partial(_counted_step, how, wide), n_rows, batch_size, epochs)
    for width in wide:
        found = found.plus(masked_table(n_rows, width))
    n_batches = epochs * -(-n_rows // batch_size)
    return found, WORD_BYTES * (len(widths) - 1) * sum(wide) * n_batches


def _counted_step(how: Arithmetic, widths: Sequence[int], n_rows: int) -> SharingCost:
    rings = [CountingRing(width) for width in widths]
    scores = np.zeros((1, len(widths), n_rows), dtype=np.uint64)
    gradient_shares(rings, scores, scores[:, 0], np.arange(n_rows), how)
    found = SharingCost(n_rounds=1)  # of gradients' shares
    for ring in rings:
        found = found.plus(ring.cost)
    return found


class OpenedShares:
    """The parties of one run. Scores enter a round in the clear, each at its owner, and so gradients leave it."""

    def __init__(self, members: Sequence[Member], how: Arithmetic) -> None:
        self._members = members
        self._how = how
        self._channel = PartyChannel([member.actor for member in members])
        self._receivers = [place for place, member in enumerate(members) if member.features.shape[1]]
        self._signs = np.stack([_signs(member) for member in members])
        tables = [self._table(place) for place in self._receivers]
        self._ideal = [IdealRing(summed(table)) for table in tables]
        self._dealers = [dealer_for(members) for _ in tables]
        self._rings = [
            SharedRing(table, dealer, self._channel) for table, dealer in zip(tables, self._dealers, strict=True)
        ]
        self._n_opened = 0

    def gradients(self, batch: IntArray) -> list[FloatArray]:
        """Every member's, in order."""
        scores, signs = self._scores(batch), self._signs[:, batch]
        check_range(sizes(scores).sum(axis=0))
        gradient_shares(self._ideal, summed(scores), summed(signs), batch, self._how)  # raises before anything is sent
        shares, scale = gradient_shares(self._rings, scores, signs, batch, self._how)
        found = [np.empty(0) for _ in self._members]
        for place, parts in zip(self._receivers, shares, strict=True):
            total = signed(self._opened_to(place, parts)).astype(np.float64)
            found[place] = np.ldexp(total, -2 * self._how.fraction_bits) / (scale * len(batch))
        self._channel.n_rounds += 1
        return found

    def _scores(self, batch: IntArray) -> Words:
        """What each holder adds for each receiver: its score, with the noise of a defense for all but itself."""
        exact = [member.score(batch) for member in self._members]
        sent = [
            member.actor.outgoing(linear.SHARED_SCORE, score)
            for member, score in zip(self._members, exact, strict=True)
        ]
        found = np.repeat(np.array(sent)[:, None], len(self._receivers), axis=1)
        for column, place in enumerate(self._receivers):
            found[place, column] = exact[place]
        return words(fixed_point.encode(found, self._how.fraction_bits))

    def _table(self, owner: int) -> Words:
        features = self._members[owner].features
        found = np.zeros((len(self._members), *features.shape), dtype=np.uint64)
        found[owner] = words(fixed_point.encode(features, self._how.fraction_bits))
        return found

    def _opened_to(self, receiver: int, shares: Words) -> Words:
        """The sum of the receiver's own share and of those that the others send to it alone."""
        actor = self._members[receiver].actor
        actor.record(linear.GRADIENT_PART, linear.OWN_PART_SHARE, Array(shares[receiver]))
        total: Words = shares[receiver]
        for place, member in enumerate(self._members):
            if place != receiver:
                received = member.actor.send(linear.GRADIENT_PART, actor, Array(shares[place])).values
                self._n_opened += received.nbytes
                total = total + received
        return total

    @property
    def cost(self) -> str:
        """Counted, for the report."""
        opened = f"{self._n_opened:,} bytes of gradients' shares, each to the gradient's owner"
        return f"{self._channel.told}; {opened}; {told_by(self._dealers)}"


def _signs(member: Member) -> Words:
    """A share of the labels: all of them, or nothing."""
    nothing = np.zeros(len(member.features))
    return words((nothing if member.signs is None else member.signs).astype(np.int64))
