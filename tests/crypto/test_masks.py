from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.crypto.masks import (
    HIDING_BITS,
    add_masks,
    pairwise_zero_shares,
    remove_masks,
    uniform_residues,
)

MODULI = ((1 << 511) + 111, (1 << 512) - 1)


def test_moduli_of_one_length_consume_the_same_randomness() -> None:
    states = []
    for modulus in MODULI:
        rng = np.random.default_rng(1)
        assert all(0 <= mask < modulus for mask in uniform_residues(rng, 5, modulus, 512))
        states.append(rng.bytes(16))
    assert states[0] == states[1]


@pytest.mark.parametrize("modulus", MODULI)
def test_masks_spread_evenly_over_the_modulus(modulus: int) -> None:
    n_bins, count = 16, 4000
    masks = uniform_residues(np.random.default_rng(2), count, modulus, 512)
    counts = np.bincount([mask * n_bins // modulus for mask in masks], minlength=n_bins)
    expected = count / n_bins
    chi_squared = float(((counts - expected) ** 2 / expected).sum())
    assert chi_squared < 37.7  # 0.999 quantile at 15 degrees of freedom
    assert 0.46 < np.mean([mask % 2 for mask in masks]) < 0.54
    assert len(set(masks)) == count


def test_masks_need_the_length_of_their_modulus() -> None:
    with pytest.raises(ValueError, match="key_bits"):
        uniform_residues(np.random.default_rng(0), 1, MODULI[0], 511)
    assert uniform_residues(np.random.default_rng(0), 0, MODULI[0], 512) == []


@settings(derandomize=True, deadline=None, max_examples=40)
@given(values=st.lists(st.integers(0, MODULI[0] - 1), max_size=5))
def test_what_is_masked_is_recovered(values: list[int]) -> None:
    masks = uniform_residues(np.random.default_rng(3), len(values), MODULI[0], 512)
    masked = add_masks(values, masks, MODULI[0])
    assert remove_masks(masked, masks, MODULI[0]) == values
    assert all(a != b for a, b in zip(masked, values, strict=True))


@pytest.mark.parametrize("n_parties", [1, 2, 3, 6])
def test_shares_sum_to_zero(n_parties: int) -> None:
    shares = pairwise_zero_shares(np.random.default_rng(4), n_parties, 7, 62)
    assert [len(share) for share in shares] == [7] * n_parties
    assert [sum(column) for column in zip(*shares, strict=True)] == [0] * 7


def test_shares_are_wide_enough_to_hide_and_not_wider() -> None:
    shares = pairwise_zero_shares(np.random.default_rng(5), 3, 200, 62)
    for share in shares[:1]:
        assert np.median([abs(value).bit_length() for value in share]) >= 62 + HIDING_BITS - 2
    longest = max(abs(value).bit_length() for share in shares for value in share)
    assert longest <= 62 + HIDING_BITS + 8 + 2  # whole bytes, and a sum over the pairs


def test_shares_follow_the_generator_and_differ_between_entries() -> None:
    first, again, other = (pairwise_zero_shares(np.random.default_rng(seed), 2, 3, 20) for seed in (6, 6, 7))
    assert first == again
    assert first != other
    assert len(set(first[0])) == 3
