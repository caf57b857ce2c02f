"""Signs from sums of rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.attacks.residuals.sign_system_labels import SignEquation, search, solve_signs


def equation(rows, features, signs):
    return SignEquation(np.asarray(rows), features[rows], signs[rows] @ features[rows])


@given(st.integers(0, 1000), st.integers(2, 20))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_search_finds_the_only_solution(seed, n_rows):
    rng = np.random.default_rng(seed)
    features, signs = rng.standard_normal((n_rows, 3)), rng.choice([-1.0, 1.0], n_rows)
    found = search(features, signs @ features, rng)
    assert found is not None
    np.testing.assert_array_equal(found, signs)


def test_rows_that_repeat_stay_open_where_their_signs_differ():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((8, 3))
    features[1] = features[0]
    signs = np.array([1.0, -1, 1, 1, -1, 1, -1, -1])
    found = search(features, signs @ features, rng)
    assert np.isnan(found[:2]).all()
    np.testing.assert_array_equal(found[2:], signs[2:])


def test_no_solution_is_no_answer():
    rng = np.random.default_rng(1)
    assert search(rng.standard_normal((10, 3)), np.full(3, 100.0), rng) is None


def test_epochs_stack_to_a_linear_system_beyond_any_search():
    rng = np.random.default_rng(2)
    features, signs = rng.standard_normal((120, 4)), rng.choice([-1.0, 1.0], 120)
    batches = [batch for _ in range(40) for batch in rng.permutation(120).reshape(2, 60)]
    found = solve_signs([equation(batch, features, signs) for batch in batches], 120, rng)
    np.testing.assert_array_equal(found.values, signs)
    assert found.by_algebra == 120


def test_what_is_over_the_budget_is_counted_and_left_open():
    rng = np.random.default_rng(3)
    features, signs = rng.standard_normal((60, 4)), rng.choice([-1.0, 1.0], 60)
    found = solve_signs([equation(np.arange(60), features, signs)], 60, rng)
    assert found.over_budget == 1
    assert np.isnan(found.values).all()
