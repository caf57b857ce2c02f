"""Figures of the theorems, worked out by hand or counted another way: a bound that is off by a factor is no bound."""

from __future__ import annotations

from math import comb, e, exp, log, pi, sqrt

import numpy as np
import pytest

from fedleak.core.errors import InputError
from fedleak.theory.binary_uniqueness import collision_bits, expected_doubles, fewest_columns, table_bits
from fedleak.theory.column_ratios import epochs_for_values, epochs_to_merge, regrouping_bound
from fedleak.theory.horizontal_rounds import rounds_needed
from fedleak.theory.inner_products import epochs_needed
from fedleak.theory.inner_products import n_unknowns as unknowns_of_rows
from fedleak.theory.label_signs import gaussian_bound, growth, paper_bound, paper_confidence, safe_rounds, weight_std
from fedleak.theory.local_updates import exactness_limit, freedom, other_factors, product_of
from fedleak.theory.privacy_budget import noise_for, noise_levels, score_sensitivity, weight_sensitivity
from fedleak.theory.rotation_freedom import degrees_of_freedom, horizontal_kdr, most_solutions, staircase, vertical_kdr
from fedleak.theory.score_noise import C_GAUSSIAN, error_bound, utility_bound


def test_lemma_6_3():
    assert pytest.approx(0.6771, abs=1e-4) == C_GAUSSIAN  # ((sqrt 7 - 1) / 2)^2
    k = log(2 * 100 / 0.05) / 0.677124
    assert error_bound(2.0, 16, 100, delta=0.05, max_row_norm=0.5) == pytest.approx(0.5 * 2.0 * sqrt(k / 16), rel=1e-5)
    with pytest.raises(ValueError, match="k >= 1"):
        error_bound(2.0, 16, 1, delta=0.999 * 2, c=1.0)
    assert error_bound(3.0, 9, 1, delta=2 / e, c=1.0) == pytest.approx(1.0)  # k is just 1 there


def test_theorem_6_4():
    found = utility_bound(gradient_bound=3.0, error=1.0, start=8.0, radius=2.0, rounds=100, delta=exp(-2))
    assert found.step_size == pytest.approx(8 / (4 * 10))
    assert found.excess == pytest.approx(4 * 2 / 10 + (2 * 3 + 1) * 2 * sqrt(2 * 2 / 100))


def test_lemmas_d_2_to_d_4():
    assert weight_sensitivity(3, learning_rate=0.1, gradient_bound=2.0, batch_size=4) == pytest.approx(0.3 * sqrt(2))
    assert score_sensitivity(weights=0.5, batch_size=16, own_change=3.0, differs=False) == pytest.approx(2.0)
    assert score_sensitivity(weights=1.0, batch_size=16, own_change=3.0, differs=True) == pytest.approx(5.0)
    assert noise_for(3.0, epsilon=0.5, delta=1.25 / e**2) == pytest.approx(12.0)
    for wrong in ((0.0, 0.1), (1.0, 0.1), (0.5, 0.0), (0.5, 1.0)):
        with pytest.raises(InputError):
            noise_for(1.0, epsilon=wrong[0], delta=wrong[1])


def test_equations_71_and_72():
    given = {"epsilon": 0.5, "delta": 1.25 / e**2, "epochs": 3, "rounds": 30, "learning_rate": 0.1, "batch_size": 10}
    drift = 8 * 2**2 * 3**2 * 30 * 0.1**2 / 10
    active, passive = sqrt(drift + 16**2 * 3), sqrt(drift + 12**2 * 3)
    found = noise_levels(**given, gradient_bound=2.0)
    assert (found.active, found.passive) == pytest.approx((2 * active / 0.5, 2 * passive / 0.5))
    printed = noise_levels(**given, gradient_bound=2.0, as_printed=True)
    assert (printed.active, printed.passive) == pytest.approx((sqrt(4 * active / 0.5), sqrt(4 * passive / 0.5)))


def test_batches_that_merge():
    assert [epochs_to_merge(m) for m in (1, 2, 3, 4, 5, 8, 9)] == [1, 2, 3, 3, 4, 4, 5]
    assert [epochs_for_values(m, zero_start=False) for m in (1, 2, 3, 8)] == [2, 2, 3, 4]
    assert [epochs_for_values(m, zero_start=True) for m in (1, 2, 3, 8)] == [3, 3, 4, 5]
    assert regrouping_bound(1, 5, epochs=3) == 0.0
    # Eight rows in four pairs: four sets at first, two (never fewer) after each epoch, each kept by one choice in 28.
    assert [regrouping_bound(4, 2, epochs=n) for n in (1, 2, 3, 4)] == pytest.approx([4 / 28, 4 / 28, 6 / 28, 8 / 28])
    assert regrouping_bound(10, 8, epochs=2) == pytest.approx(10 / comb(80, 8))
    assert regrouping_bound(2, 1, epochs=9) == 1.0


def test_signs_of_residuals():
    assert growth(0.2, 3.0) == pytest.approx(1.45)
    assert [safe_rounds(4.0, first, 1.0) for first in (0.0, 0.9, 1.1, 1.9999, 2.0)] == [1, 1, 1, 1, 0]
    assert safe_rounds(0.1, 0.0, 1.0) == 29  # 1.025^28 < 2 <= 1.025^29
    assert paper_bound(3.0, 16, c=0.5) == pytest.approx(3.0)
    assert paper_confidence(10, 100) == pytest.approx(1 - 20 * exp(-10))
    assert paper_confidence(10, 1) == 0.0
    assert gaussian_bound(0.5, 2.0, 50, failure=100 / e**2) == pytest.approx(2.0)
    assert weight_std("xavier", 7) == 0.5
    assert weight_std("kaiming", 8) == 0.5
    assert weight_std("normal", 8) == 1.0
    assert weight_std("zero", 8) is None


@pytest.mark.parametrize(("rows", "columns"), [(3, 2), (4, 3), (2, 5)])
def test_tables_up_to_row_order_are_multisets_of_rows(rows, columns):
    assert 2 ** table_bits(rows, columns) == pytest.approx(comb(2**columns + rows - 1, rows))


def test_bits_of_wide_tables_and_of_their_products():
    assert table_bits(10, 100) == pytest.approx(1000 - np.log2(3628800), abs=1e-6)
    sparse = -0.1 * np.log2(0.1) - 0.9 * np.log2(0.9)
    assert table_bits(10, 100, 0.1) == pytest.approx(1000 * sparse - np.log2(3628800), abs=1e-6)
    own, pair = 0.5 * np.log2(4 * pi * 20 / 4), 0.5 * np.log2(4 * pi * 20 / 16)
    assert collision_bits(20, 6) == pytest.approx(6 * own + 15 * pair)
    assert collision_bits(1, 4, 0.01) == 0.0, "a variance near 0 has no bits, and takes none"
    assert expected_doubles(20, 6) == pytest.approx(2 ** (table_bits(20, 6) - collision_bits(20, 6)))
    assert expected_doubles(10**6, 3) > 1
    for rows in (5, 12, 30):
        fewest = fewest_columns(rows)
        assert expected_doubles(rows, fewest) < 1 <= expected_doubles(rows, fewest - 1)


def test_counts_of_equations_and_unknowns():
    assert (rounds_needed(7), rounds_needed(7, 3)) == (8, 24)
    assert [epochs_needed(*case) for case in ((9, 9, 4), (9, 9, None), (9, 20, 12), (9, 8, 4))] == [6, 11, 11, 10]
    assert [unknowns_of_rows(*case) for case in ((10, 3), (4, 4), (4, 9))] == [30, 14, 14]
    assert freedom(4, 2) == 4
    assert freedom(4, 3) == 14
    assert exactness_limit(10, 5, 0.2) == pytest.approx(4 / (50 * 0.04))


def test_degrees_of_freedom_and_known_cells():
    assert [degrees_of_freedom(n, with_weights=False) for n in (0, 1, 2, 5)] == [0, 0, 1, 10]
    assert [degrees_of_freedom(n, with_weights=True) for n in (1, 2, 5)] == [0, 0, 6]
    assert [most_solutions(n, with_weights=True) for n in (0, 1, 2, 5)] == [1, 1, 2, 16]
    assert [most_solutions(n, with_weights=False) for n in (0, 1, 2, 5)] == [1, 2, 4, 32]
    assert vertical_kdr(5, 10) == pytest.approx(4 * 3 / (2 * 10 * 5))
    assert horizontal_kdr(10, 4) == pytest.approx(3 / 20)
    assert horizontal_kdr(4, 4) == pytest.approx(3 / 8)
    assert horizontal_kdr(4, 10) == pytest.approx(15 / 20)
    assert staircase(4, with_weights=False) == (3, 2, 1, 0)
    assert staircase(4, with_weights=True) == (2, 1, 0)
    assert staircase(4, with_weights=True, extra=3) == (4, 4, 3)
    assert staircase(1, with_weights=True) == (0,)


def test_factors_that_are_others_have_the_same_product():
    rng = np.random.default_rng(0)
    alphas = [half @ half.T for half in rng.standard_normal((2, 4, 4))]
    others = other_factors(alphas, 0.05, 0.3)
    np.testing.assert_allclose(product_of(others, 0.05), product_of(alphas, 0.05), atol=1e-10)
    for one, other in zip(alphas, others, strict=True):
        np.testing.assert_allclose(other, other.T, atol=1e-10)
        assert np.abs(one - other).max() > 0.1
