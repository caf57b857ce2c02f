"""Joining products of unknown weights and values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.attacks.residuals.ratio_forest import Observations, RatioForest, join_products
from fedleak.attacks.residuals.single_column_recovery import ScoredRound, recover_column


def test_forest_keeps_ratios_through_joins():
    forest = RatioForest(5)
    assert forest.join(0, 1, 2.0)  # v0 = 2 v1
    assert forest.join(2, 3, 5.0)  # v2 = 5 v3
    assert forest.join(1, 3, 10.0)  # v1 = 10 v3
    assert not forest.join(0, 2, 4.0)
    root, of_zero = forest.find(0)
    assert forest.find(2) == (root, pytest.approx(of_zero / 4))
    assert forest.find(4)[0] == 4


@given(st.integers(0, 10_000))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_sets_that_share_no_row_are_not_joined(seed):
    rng = np.random.default_rng(seed)
    weights, rows = rng.uniform(0.5, 2, 4), rng.uniform(0.5, 2, 8) * rng.choice([-1, 1], 8)
    batch = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3])
    row = np.array([0, 1, 2, 2, 3, 4, 5, 5, 6])
    value = weights[batch] * rows[row]
    found = join_products(Observations(batch, row, value, np.full(9, 1e-12)), 4, 8)
    assert np.isfinite(found.rows[:4]).all()
    assert np.isnan(found.rows[4:]).all()
    assert found.n_sets == 2
    np.testing.assert_allclose(found.rows[:4] / found.rows[0], rows[:4] / rows[0], rtol=1e-9)


def training(rng, *, n_rows=60, size=6, epochs=5, start=0.3, zero_share=0.0, noise=1e-12, shuffle=True):
    x = rng.standard_normal(n_rows)
    x[rng.random(n_rows) < zero_share] = 0.0
    others, signs = rng.standard_normal((n_rows, 8)), rng.choice([-1.0, 1.0], n_rows)
    w, v, rate, rounds = start, np.zeros(8), 0.5, []
    order = rng.permutation(n_rows)
    for _ in range(epochs):
        for batch in order.reshape(-1, size):
            scores = w * x[batch]
            residuals = (scores + others[batch] @ v) / 4 - signs[batch] / 2
            seen = scores + noise * rng.standard_normal(size)
            rounds.append(ScoredRound(batch, seen, residuals, rate / size, noise))
            w -= rate / size * residuals @ x[batch]
            v -= rate / size * others[batch].T @ residuals
        if shuffle:
            order = rng.permutation(n_rows)
    return x, rounds


@pytest.mark.parametrize(("start", "zero_share"), [(0.3, 0.0), (0.0, 0.0), (0.3, 0.4)])
def test_a_column_is_recovered_up_to_sign(start, zero_share):
    x, rounds = training(np.random.default_rng(0), start=start, zero_share=zero_share)
    found = recover_column(rounds, len(x))
    assert found is not None
    sign = np.sign(found.values @ x)
    np.testing.assert_allclose(sign * found.values, x, atol=1e-8)
    assert found.n_zero == int(np.sum(x == 0))


def test_batches_that_never_mix_leave_rows_open():
    x, rounds = training(np.random.default_rng(1), shuffle=False)
    found = recover_column(rounds, len(x))
    assert found is None or np.isnan(found.values).sum() >= len(x) - 6


def test_scores_that_no_column_explains_show_a_misfit():
    rng = np.random.default_rng(2)
    x, rounds = training(rng)
    noisy = [ScoredRound(r.rows, rng.standard_normal(len(r.rows)), r.residuals, r.step, 1e-3) for r in rounds]
    found = recover_column(noisy, len(x))
    assert found is None or found.misfit > 0.1
