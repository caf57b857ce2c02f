from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.errors import PlaintextRangeError
from fedleak.crypto.fixed_point import ENCODED_BITS, centred, decode, encode

MODULUS = (1 << 511) + 187
many = settings(derandomize=True, deadline=None, max_examples=100)


@many
@given(value=st.floats(-(2.0**20), 2.0**20), bits=st.integers(0, 40))
def test_encoding_rounds_to_the_nearest(value: float, bits: int) -> None:
    encoded = int(encode(np.array([value]), bits)[0])
    assert abs(Fraction(encoded) - Fraction(value) * 2**bits) <= Fraction(1, 2)


@many
@given(value=st.floats(-(2.0**20), 2.0**20))
def test_round_trip_is_within_half_a_unit(value: float) -> None:
    residues = [int(v) % MODULUS for v in encode(np.array([value]), 40)]
    assert abs(decode(residues, 40, MODULUS)[0] - value) <= 2.0**-41


@many
@given(value=st.integers(-(2**300), 2**300), bits=st.integers(0, 200))
def test_decoding_is_correctly_rounded(value: int, bits: int) -> None:
    decoded = decode([value % MODULUS], bits, MODULUS)[0]
    assert decoded == float(Fraction(value, 2**bits))


def test_products_have_twice_the_fraction_bits() -> None:
    a, b = encode(np.array([-1.5, 0.25]), 40)
    assert decode([int(a) * int(b) % MODULUS], 80, MODULUS)[0] == -0.375


def test_shape_and_ties() -> None:
    assert encode(np.array([[0.5, 1.5], [-0.5, 2.5]]), 0).tolist() == [[0, 2], [0, 2]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 2.0 ** (ENCODED_BITS - 40), -(2.0**60), 1e308])
def test_encoding_refuses_what_does_not_fit(value: float) -> None:
    with pytest.raises(PlaintextRangeError, match="must be finite and under"):
        encode(np.array([0.0, value]), 40)


def test_the_largest_encoding() -> None:
    largest = np.nextafter(2.0**22, 0)
    assert encode(np.array([largest, -largest]), 40).tolist() == [int(largest * 2**40), -int(largest * 2**40)]


def test_negative_fraction_bits_are_refused() -> None:
    with pytest.raises(PlaintextRangeError, match="fraction_bits"):
        encode(np.zeros(1), -1)
    with pytest.raises(PlaintextRangeError, match="fraction_bits"):
        decode([0], -1, MODULUS)


@many
@given(residue=st.integers(2**384, MODULUS - 2**384))
def test_a_residue_that_is_still_masked_is_detected(residue: int) -> None:
    with pytest.raises(PlaintextRangeError, match="a wrong mask, or an overflow"):
        decode([residue], 40, MODULUS)


def test_range_limits() -> None:
    assert decode([2**10 - 1, MODULUS - 2**10 + 1], 0, MODULUS, max_bits=10).tolist() == [1023.0, -1023.0]
    for residue in (2**10, MODULUS - 2**10):
        with pytest.raises(PlaintextRangeError):
            decode([residue], 0, MODULUS, max_bits=10)
    for residue in (-1, MODULUS):
        with pytest.raises(PlaintextRangeError, match="residues must be in"):
            decode([residue], 0, MODULUS)
    with pytest.raises(ValueError, match="max_bits"):
        decode([0], 0, MODULUS, max_bits=511)


def test_numbers_beyond_float64_are_refused() -> None:
    modulus = (1 << 2047) + 1
    with pytest.raises(PlaintextRangeError, match="float64"):
        decode([1 << 1100], 0, modulus)


def test_centred() -> None:
    assert [centred(value, 7) for value in range(7)] == [0, 1, 2, 3, -3, -2, -1]
