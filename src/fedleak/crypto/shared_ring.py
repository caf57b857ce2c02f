"""Parties that compute on shares modulo 2^64: products by Beaver's triples, rounding and comparison on shared bits.

Row p of a value is what party p holds, and every row is computed from that row and from what the party received:
``Channel`` sends what is opened. What is opened is masked by fresh uniform words of the dealer, so it is uniform
whatever the numbers are. The table's mask stays, since the table does (Mohassel and Zhang 2017, section IV).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.crypto.dealt_randomness import LEVELS, Dealer, MaskedNumber, Triple
from fedleak.crypto.ring_arithmetic import WORD_BITS, RingArithmetic, Words, plus, word

ONE = np.uint64(1)
OFFSET_BITS = WORD_BITS - 2  # added before a shift: signed numbers under 2^62 become ones from 0 to 2^63


class Channel(Protocol):
    """Every party sends its row to all others; a row of the answer is what one of them makes of what it got."""

    def opened(self, shares: Words) -> Words: ...

    def opened_bits(self, shares: Words) -> Words: ...

    def opened_flags(self, shares: Words) -> Words: ...


class SharedRing(RingArithmetic):
    def __init__(self, table: Words, dealer: Dealer, channel: Channel) -> None:
        self._dealer = dealer
        self._channel = channel
        _, n_rows, n_columns = table.shape
        self._mask = dealer.table_mask((n_rows, n_columns))
        self._masked = channel.opened(table - self._mask)

    def rows_times(self, rows: IntArray, weights: Words) -> Words:
        mask, product = self._dealer.table_product(rows, transposed=False)
        return self._matrix_product(self._masked[:, rows], self._mask[:, rows], weights, mask, product)

    def times_rows(self, rows: IntArray, factors: Words) -> Words:
        mask, product = self._dealer.table_product(rows, transposed=True)
        masked, table_mask = (part[:, rows].transpose(0, 2, 1) for part in (self._masked, self._mask))
        return self._matrix_product(masked, table_mask, factors, mask, product)

    def _matrix_product(self, masked: Words, table_mask: Words, vector: Words, mask: Words, product: Words) -> Words:
        """(E + U)(F + V) = EF + EV + UF + UV with E and F public, U and V the dealer's."""
        difference = self._channel.opened(vector - mask)
        found = product + _times(masked, mask) + _times(table_mask, difference)
        return plus(found, _times(masked, difference)[0])

    def multiply(self, left: Words, right: Words) -> Words:
        triple = self._dealer.multiplication(left.shape[1:])
        opened = self._channel.opened(np.stack([left - triple.left, right - triple.right], axis=1))
        first, second = opened[:, 0], opened[:, 1]
        return plus(triple.product + first * triple.right + second * triple.left, first[0] * second[0])

    def scaled(self, values: Words, factor: int) -> Words:
        return values * word(factor)

    def shift(self, values: Words, bits: int) -> Words:
        """With c = x + r open, floor(x / 2^b) = (c >> b) - (r >> b) - [low bits borrow] + 2^(64 - b) [all borrow]."""
        dealt = self._dealer.masked_number(values.shape[1:], bits)
        positive = plus(values, word((1 << OFFSET_BITS) + (1 << (bits - 1))))
        opened = self._channel.opened(positive + dealt.mask)
        _, carries = _subtracted(opened, dealt, self._channel)
        enough = self._as_numbers(np.stack([_bit(carries, bits - 1), _bit(carries, WORD_BITS - 1)], axis=1))
        low, whole = _opposite(enough[:, 0]), _opposite(enough[:, 1])
        found = whole * word(1 << (WORD_BITS - bits)) - low - dealt.shifted
        return plus(found, (opened[0] >> np.uint64(bits)) - word(1 << (OFFSET_BITS - bits)))

    def clip(self, values: Words, edge: int) -> Words:
        """z + [z >= edge] (edge - z) + [z < -edge] (-edge - z)."""
        over, under = plus(values, word(-edge)), plus(values, word(edge))
        below = self._negative(np.stack([over, under], axis=1))
        outside = np.stack([_opposite(below[:, 0]), below[:, 1]], axis=1)
        changes = self.multiply(outside, np.stack([-over, -under], axis=1))
        return values + changes[:, 0] + changes[:, 1]

    def _negative(self, values: Words) -> Words:
        """One where the highest bit of a number is set."""
        dealt = self._dealer.masked_number(values.shape[1:])
        opened = self._channel.opened(values + dealt.mask)
        differing, carries = _subtracted(opened, dealt, self._channel)
        return self._as_numbers(_bit(differing, WORD_BITS - 1) ^ _bit(carries, WORD_BITS - 2))

    def _as_numbers(self, bits: Words) -> Words:
        """Shared bits as shared numbers: bit = e + s - 2es with e = bit xor s public, s the dealer's."""
        dealt = self._dealer.flags(bits.shape[1:])
        opened = self._channel.opened_flags(bits ^ dealt.bits)
        return plus(dealt.numbers * (ONE - (opened << ONE)), opened[0])


def _times(matrix: Words, vector: Words) -> Words:
    return (matrix @ vector[..., None])[..., 0]


def _opposite(flags: Words) -> Words:
    return plus(-flags, ONE)


def _bit(values: Words, place: int) -> Words:
    return (values >> np.uint64(place)) & ONE


def _flipped(bits: Words, public: Words | np.uint64) -> Words:
    """Exclusive or with a public word, by the first holder alone."""
    found = bits.copy()
    found[0] ^= public
    return found


def _subtracted(opened: Words, dealt: MaskedNumber, channel: Channel) -> tuple[Words, Words]:
    """Bits of c + not r + 1 = c - r: where the summands differ, and the carry out of every place.

    A parallel prefix adder (Kogge and Stone 1973) on words: all places of all numbers at once, six levels of ands.
    """
    inverted = _flipped(dealt.mask_bits, ~np.uint64(0))
    differing = _flipped(inverted, opened[0])
    carries = opened & inverted
    carries = carries ^ (differing & ONE)  # the 1 that comes in
    passes = differing
    for level in range(LEVELS):
        distance = np.uint64(1 << level)
        last = level == LEVELS - 1
        earlier = [carries << distance] if last else [carries << distance, passes << distance]
        both = np.stack([passes] * len(earlier), axis=1)
        used = slice(2 * level, 2 * level + len(earlier))
        triple = Triple(dealt.ands.left[:, used], dealt.ands.right[:, used], dealt.ands.product[:, used])
        found = _and(both, np.stack(earlier, axis=1), triple, channel)
        carries = carries ^ found[:, 0]
        passes = passes if last else found[:, 1]
    return differing, carries


def _and(left: Words, right: Words, triple: Triple, channel: Channel) -> Words:
    opened = channel.opened_bits(np.stack([left ^ triple.left, right ^ triple.right], axis=1))
    first, second = opened[:, 0], opened[:, 1]
    return _flipped(triple.product ^ (first & triple.right) ^ (second & triple.left), first[0] & second[0])
