"""Masks between pairs: they hide single vectors and vanish in the sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedleak.core.errors import CryptoError, PlaintextRangeError, ProtocolError
from fedleak.crypto import fixed_point
from fedleak.crypto.agreed_keys import KEY_BYTES, MaskingKey
from fedleak.crypto.secure_aggregation import Words, mask_of, masked, opened_sum

NAMES = ("clinic", "hospital", "lab")


@pytest.fixture(scope="module")
def pair_secrets() -> dict[str, dict[str, bytes]]:
    keys = {name: MaskingKey() for name in NAMES}
    return {one: {other: keys[one].shared_with(keys[other].public) for other in NAMES if other != one} for one in NAMES}


def test_public_keys_are_those_of_the_standard():
    """RFC 7748, section 5: the u coordinate 9 times a scalar; here by its own arithmetic, bit by bit."""
    secret = bytes(range(1, 33))
    assert MaskingKey(secret).public == ladder(secret, 9).to_bytes(KEY_BYTES, "little")


def ladder(secret: bytes, u: int) -> int:
    """The Montgomery ladder of RFC 7748, section 5."""
    p = 2**255 - 19
    k = (int.from_bytes(secret, "little") & ~7 & ((1 << 255) - 1)) | 1 << 254
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in range(254, -1, -1):
        if swapped := k >> bit & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        e = a * a - b * b
        x3, z3 = pow(d * a + c * b, 2, p), u * pow(d * a - c * b, 2, p) % p
        x2, z2 = a * a * b * b % p, e * (a * a + 121665 * e) % p
        if swapped:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return x2 * pow(z2, -1, p) % p


def test_both_of_a_pair_have_the_same_secret(pair_secrets):
    assert pair_secrets["clinic"]["lab"] == pair_secrets["lab"]["clinic"]
    assert pair_secrets["clinic"]["lab"] != pair_secrets["clinic"]["hospital"]


def test_masks_cancel_over_all_parties_and_change_with_the_round(pair_secrets):
    masks = [mask_of(name, pair_secrets[name], 3, 50) for name in NAMES]
    assert not sum(masks[1:], masks[0]).any()
    assert all(mask.any() for mask in masks)
    assert (mask_of("lab", pair_secrets["lab"], 4, 50) != masks[2]).any()


@given(st.lists(st.lists(st.floats(-1000, 1000), min_size=4, max_size=4), min_size=3, max_size=3))
def test_the_sum_is_exact_to_fixed_point(pair_secrets, vectors):
    sent = {
        name: masked(np.array(vector), 30, mask_of(name, pair_secrets[name], 0, 4), len(NAMES))
        for name, vector in zip(NAMES, vectors, strict=True)
    }
    assert np.abs(opened_sum(sent, NAMES, 30) - np.sum(vectors, axis=0)).max() <= 3 * 2.0**-31 + 1e-12


@pytest.mark.parametrize("count", [1, 64])
def test_a_missing_vector_is_named_and_nothing_is_added_up(pair_secrets, count):
    """With one entry, a sum with a mask in it is in range half of the time: the range alone would not tell."""
    sent = {
        name: masked(np.ones(count), 40, mask_of(name, pair_secrets[name], 0, count), len(NAMES)) for name in NAMES[:2]
    }
    with pytest.raises(ProtocolError, match="got none from lab"):
        opened_sum(sent, NAMES, 40)


def test_a_mask_that_does_not_cancel_is_noticed(pair_secrets):
    sent = {name: masked(np.ones(64), 40, mask_of(name, pair_secrets[name], 0, 64), len(NAMES)) for name in NAMES}
    sent["lab"] = masked(np.ones(64), 40, mask_of("lab", pair_secrets["lab"], 1, 64), len(NAMES))
    with pytest.raises(PlaintextRangeError, match="mask did not cancel"):
        opened_sum(sent, NAMES, 40)


@pytest.mark.parametrize("key", [bytes(KEY_BYTES), b"\1" + bytes(KEY_BYTES - 1), bytes(KEY_BYTES - 1), b""])
def test_a_degenerate_public_key_is_refused(key):
    with pytest.raises(CryptoError, match="public key"):
        MaskingKey().shared_with(key)


def no_mask(count: int) -> Words:
    return np.zeros(count, dtype=np.uint64)


@given(st.integers(1, 60), st.integers(0, 52), st.data())
def test_vectors_that_are_accepted_sum_exactly(n_parties, bits, data):
    """Drawn around the parties' share of the range, where a sum is about to wrap."""
    share = 2.0 ** (62 - bits) / n_parties
    factors = data.draw(st.lists(st.floats(-1.1, 1.1) | st.just(1.0), min_size=n_parties, max_size=n_parties))
    sent, exact = {}, 0
    for number, factor in enumerate(factors):
        value = np.array([factor * share])
        try:
            sent[str(number)] = masked(value, bits, no_mask(1), n_parties)
        except PlaintextRangeError:
            sent[str(number)] = masked(np.zeros(1), bits, no_mask(1), n_parties)
        else:
            exact += int(fixed_point.encode(value, bits)[0])
    assert opened_sum(sent, tuple(sent), bits)[0] == exact / 2**bits  # one rounding, of the exact integer


def test_a_value_over_the_parties_share_of_the_range_is_not_sent():
    """Fifty times a million wraps around 2^64 at 40 fraction bits: the sum would be -331,648."""
    with pytest.raises(
        PlaintextRangeError, match=r"at most 83886.1 in magnitude for 50 parties.*got 1e.06.*fewer frac"
    ):
        masked(np.array([1e6]), 40, no_mask(1), 50)
    assert masked(np.array([1e6]), 40, no_mask(1), 2)[0] == 10**6 << 40
    parties, share = 2**31 - 1, 2**31 + 1  # their product is 2^62 - 1, the largest sum there may be
    assert masked(np.array([float(share)]), 0, no_mask(1), parties)[0] == share
    with pytest.raises(PlaintextRangeError):
        masked(np.array([share + 1.0]), 0, no_mask(1), parties)
