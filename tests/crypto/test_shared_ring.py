"""Shares modulo 2^64 open to what the ideal ring computes, bit for bit, and what is sent says nothing."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from scipy.stats import chisquare

from fedleak.core.errors import PlaintextRangeError
from fedleak.crypto.dealt_randomness import Dealer, split, split_bits
from fedleak.crypto.ring_arithmetic import IdealRing, plus, signed, word, words
from fedleak.crypto.shared_ring import SharedRing


class Wire:
    """Keeps what the last party sends."""

    def __init__(self):
        self.sent = []

    def _all(self, shares, combine):
        self.sent.append(shares[-1].ravel())
        return np.stack([reduce(combine, list(shares))] * len(shares))

    def opened(self, shares):
        return self._all(shares, np.add)

    def opened_bits(self, shares):
        return self._all(shares, np.bitwise_xor)

    opened_flags = opened_bits


def rings(table, n_parties, draw=None):
    given = {} if draw is None else {"draw": draw}
    wire, shares = Wire(), split(words(table), n_parties, *given.values())
    return IdealRing(words(table)[None]), SharedRing(shares, Dealer(n_parties, lambda _: None, **given), wire), wire


def numbers(rng, bits, size=50):
    edges = [0, 1, -1, (1 << bits) - 1, 1 - (1 << bits), 1 << (bits - 1), -(1 << (bits - 1))]
    return np.concatenate([edges, rng.integers(-(1 << bits) + 1, 1 << bits, size - len(edges))])


def total(shares):
    return signed(shares.sum(axis=0, dtype=np.uint64))


@pytest.mark.parametrize("n_parties", [2, 3])
def test_every_operation_opens_to_the_ideal_result(n_parties):
    rng = np.random.default_rng(1)
    table, rows = rng.integers(-(1 << 24), 1 << 24, (9, 5)), np.array([7, 0, 3])
    ideal, shared, _ = rings(table, n_parties)
    wide, narrow = words(numbers(rng, 60)), words(numbers(rng, 30))

    def agree(operation, *given):
        mine = getattr(ideal, operation[0])(*(one[None] for one in given), *operation[1:])
        theirs = getattr(shared, operation[0])(*(split(one, n_parties) for one in given), *operation[1:])
        np.testing.assert_array_equal(total(theirs), signed(mine[0]))

    for bits in (1, 20, 44, 60):
        agree(("shift", bits), wide)
    agree(("clip", 1 << 19), words(numbers(rng, 21)))
    agree(("clip", (1 << 19) - 1), wide)
    agree(("multiply",), narrow, narrow[::-1].copy())
    agree(("scaled", -12345), narrow)
    for name, vector in (("rows_times", numbers(rng, 30, 12)[-5:]), ("times_rows", numbers(rng, 30, 12)[-3:])):
        expected = signed(getattr(ideal, name)(rows, words(vector)[None])[0])
        got = total(getattr(shared, name)(rows, split(words(vector), n_parties)))
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(got, (table[rows] if name == "rows_times" else table[rows].T) @ vector)


def test_the_ideal_ring_rounds_and_clips_as_it_says():
    ideal, _, _ = rings(np.zeros((1, 1), dtype=np.int64), 2)
    assert signed(ideal.shift(words(np.array([[5, 6, -6, -7, 2]])), 2)).tolist() == [[1, 2, -1, -2, 1]]
    assert signed(ideal.clip(words(np.array([[5, 3, -3, -9]])), 3)).tolist() == [[3, 3, -3, -3]]


def test_a_number_that_leaves_the_ring_raises():
    ideal, _, _ = rings(np.full((4, 2), 1 << 31), 2)
    big = words(np.full((1, 2), 1 << 30))
    for act in (
        lambda: ideal.rows_times(np.arange(4), big),
        lambda: ideal.multiply(big * word(4), big),
        lambda: ideal.scaled(big, 1 << 40),
        lambda: ideal.shift(big * word(1 << 31), 20),
    ):
        with pytest.raises(PlaintextRangeError, match="must stay under 2\\^61"):
            act()


def transcript_of(secret, seed):
    """What the last of two parties sends while it shifts, clips and multiplies a secret that the first one put in."""
    rng = np.random.default_rng(seed)
    draw = lambda shape: rng.integers(0, 1 << 64, shape, dtype=np.uint64)  # noqa: E731
    _, ring, wire = rings(np.full((1, 4), secret), 2, draw)
    values = split(words(np.full(40, secret)), 2, draw)
    ring.clip(ring.shift(ring.multiply(values, values), 20), 1 << 19)
    return wire.sent


def test_with_the_same_randomness_what_a_party_sends_first_does_not_depend_on_the_partners_secret():
    """Its share, its part of the triple and so its opening are drawn before the secret enters."""
    one, other = transcript_of(5 << 20, 7), transcript_of(-(3 << 20), 7)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("secret", [0, 5 << 20, -(3 << 20)])
def test_what_is_opened_is_uniform_whatever_the_secret_is(secret):
    """The sums of what both send: bytes of masked words, by chi-square; seeds are fixed."""
    opened = []

    class Summed(Wire):
        def _all(self, shares, combine):
            found = super()._all(shares, combine)
            opened.append(found[0].ravel())
            return found

    table = words(np.full((30, 4), secret))
    draw = seeded(4)
    ring = SharedRing(split(table, 2, draw), Dealer(2, lambda _: None, seeded(3)), Summed())
    values = split(words(np.full(60, secret)), 2, draw)
    ring.clip(ring.shift(ring.multiply(values, values), 20), 1 << 19)
    ring.rows_times(np.arange(30), split(words(np.full(4, secret)), 2, draw))
    flags = [one for one in opened if one.max() <= 1]
    full = np.concatenate([one for one in opened if one.max() > 1]).view(np.uint8)
    assert chisquare(np.bincount(full, minlength=256)).pvalue > 1e-3
    bits = np.concatenate(flags)
    assert chisquare(np.bincount(bits.astype(int), minlength=2)).pvalue > 1e-3


def seeded(seed):
    rng = np.random.default_rng(seed)
    return lambda shape: rng.integers(0, 1 << 64, shape, dtype=np.uint64)


def test_an_opening_without_a_mask_is_noticed():
    """The test above would see it: words of one number are not uniform."""
    found = np.bincount(words(np.full(2000, 5 << 20)).view(np.uint8), minlength=256)
    assert chisquare(found).pvalue < 1e-9


def test_shares_add_up():
    values = words(np.array([3, -4, 1 << 60]))
    assert total(split(values, 4)).tolist() == [3, -4, 1 << 60]
    np.testing.assert_array_equal(np.bitwise_xor.reduce(split_bits(values, 3), axis=0), values)
    assert signed(plus(split(values, 2), word(-1)).sum(axis=0, dtype=np.uint64)).tolist() == [2, -5, (1 << 60) - 1]
