"""Shares: enough of them give the secret, fewer say nothing, and wrong ones are noticed."""

from __future__ import annotations

from dataclasses import replace

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedleak.core.errors import CryptoError, InputError
from fedleak.crypto.secret_sharing import FIELD, SECRET_BITS, Share, combine, split


def test_the_field_is_prime():
    assert gmpy2.is_prime(FIELD)


@given(st.integers(0, 2**SECRET_BITS - 1), st.integers(1, 7), st.data())
def test_any_threshold_of_shares_gives_the_secret(secret, n_shares, data):
    threshold = data.draw(st.integers(1, n_shares))
    shares = split(secret, n_shares, threshold)
    chosen = data.draw(st.permutations(shares))[: data.draw(st.integers(threshold, n_shares))]
    assert combine(chosen, threshold) == secret


def test_fewer_shares_fit_every_secret():
    """One share of a threshold of two: for each secret there is a line through it."""
    share = split(7, 3, 2)[0]
    for secret in (0, 1, 2**500):
        slope = (share.value - secret) % FIELD
        other = Share(2, (secret + 2 * slope) % FIELD)
        assert combine([share, other], 2) == secret


def test_shares_are_drawn_anew_and_none_shows_the_secret():
    first, again = ({share.value for share in split(7, 4, 2)} for _ in range(2))
    assert len(first | again) == 8
    assert 7 not in first | again


def test_too_few_repeated_or_wrong_shares_are_refused():
    shares = split(2**300, 5, 3)
    with pytest.raises(CryptoError, match="3 different shares"):
        combine(shares[:2], 3)
    with pytest.raises(CryptoError, match="3 different shares"):
        combine([shares[0], shares[0], shares[1]], 3)
    with pytest.raises(CryptoError, match="one polynomial"):
        combine([*shares[:3], replace(shares[3], value=shares[3].value ^ 1)], 3)
    for wrong in ({"at": 0}, {"at": FIELD}, {"value": FIELD}, {"value": -1}):
        with pytest.raises(CryptoError, match="place above 0"):
            combine([replace(shares[0], **wrong), *shares[1:3]], 3)


def test_wrong_numbers_are_told():
    with pytest.raises(InputError, match="threshold must be from 1 to"):
        split(1, 3, 4)
    with pytest.raises(InputError, match="threshold must be from 1 to"):
        split(1, 3, 0)
    with pytest.raises(InputError, match="number of shares, 65536"):
        split(1, 1 << 16, 2)  # a place has two bytes
    with pytest.raises(CryptoError, match="at most 520 bits"):
        split(1 << SECRET_BITS, 3, 2)


def test_shares_travel_as_bytes_and_do_not_show_themselves():
    share = split(123, 3, 2)[1]
    assert Share.from_bytes(share.to_bytes()) == share
    assert str(share.value) not in repr(share)
    with pytest.raises(CryptoError, match="68 bytes"):
        Share.from_bytes(b"short")
