"""The integer program of one batch: proofs against all labelings of small batches, and what an unfit gradient gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from fedleak.attacks.residuals.batch_label_search import Budget, ContradictionError, LabelState, solve_batch
from fedleak.attacks.residuals.label_posterior import LabelSums, label_posterior, smallest_norm
from fedleak.attacks.residuals.label_program import Ending, LabelProgram, prove_row, proved_by, search, turned
from fedleak.attacks.residuals.label_relaxation import ByEquations, ByKernel


def program(seed, *, n_rows=8, width=3, reach=0.05, labels=None):
    """A batch whose labels are tossed, with h anywhere within its reach."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((n_rows, width)))[0]
    signs = rng.choice([-1.0, 1.0], n_rows) if labels is None else labels
    smooth = rng.uniform(-reach, reach, n_rows)
    ends = np.full(n_rows, reach)
    return LabelProgram.of(basis, basis.T @ (smooth - signs / 2), np.full(width, 1e-12), -ends, ends), signs


def all_labelings(one):
    """By trying each: those for which some h within the bounds meets the equations."""
    found = []
    for signs in product((-1.0, 1.0), repeat=len(one.known)):
        right = one.target + one.basis.T @ np.array(signs) / 2
        bounds = list(zip(one.low, one.high, strict=True))
        if linprog(np.zeros(len(signs)), A_eq=one.basis.T, b_eq=right, bounds=bounds).status == 0:
            found.append(signs)
    return np.array(found)


@pytest.mark.parametrize("width", [3, 6])
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_proved_where_all_labelings_agree_and_nowhere_else(seed, width):
    one, signs = program(seed, width=width, reach=0.1 if seed % 2 else 0.02)
    assert isinstance(one.relaxation, ByKernel if width == 6 else ByEquations)
    fitting = all_labelings(one)
    assert any(np.array_equal(signs, labeling) for labeling in fitting)
    state, budget = LabelState(np.ones(8) * 1e-3), Budget(1e9)
    budget.open_batch(1)
    solve_batch(state, np.arange(8), one, budget, trusted=True)
    agree = np.all(fitting == fitting[0], axis=0)
    assert np.array_equal(state.proved, np.where(agree, signs, 0.0))
    assert np.array_equal(state.ambiguous, ~agree)


def test_weights_prove_nothing_false_whatever_they_are():
    for seed in range(30):
        one, signs = program(seed, reach=0.02)
        known = proved_by(one, np.random.default_rng(seed).standard_normal((200, 3)))
        assert not np.isnan(known).any()
        assert np.all((known == 0) | (known == signs))


def test_a_row_that_is_turned_round_is_infeasible_where_it_is_proved():
    one, signs = program(0, n_rows=12, width=9, reach=0.01)
    weights = prove_row(one, 4, signs[4])
    assert proved_by(one, weights[None])[4] == signs[4]
    assert search(turned(one, 4, signs[4]), 100).ending is Ending.INFEASIBLE
    assert np.array_equal(search(one, 100).signs, signs)


def test_a_gradient_of_other_rows_is_a_contradiction():
    one, _ = program(1, n_rows=10, width=4, reach=0.01)
    budget = Budget(1e9)
    budget.open_batch(1)
    other = replace(one, target=one.target + 3.0)
    fresh = LabelProgram.of(other.basis, other.target, other.slack, other.low, other.high)
    with pytest.raises(ContradictionError, match="own gradient"):
        solve_batch(LabelState(np.ones(10)), np.arange(10), fresh, budget, trusted=True)
    state = LabelState(np.ones(10))
    solve_batch(state, np.arange(10), fresh, budget, trusted=False)
    assert not state.proved.any()


def test_a_spent_budget_leaves_what_was_proved():
    one, signs = program(3, n_rows=24, width=9, reach=0.02)
    state, budget = LabelState(signs * 2.0), Budget(0.0)
    budget.open_batch(1)
    solve_batch(state, np.arange(24), one, budget, trusted=True)
    assert budget.programs <= 1
    assert np.all((state.proved == 0) | (state.proved == signs))
    assert np.array_equal(state.best(), signs)


def test_the_posterior_is_the_share_of_all_labelings_that_fit():
    """Columns of whole numbers, so that many labelings fit; the tilted measure is an approximation."""
    rng = np.random.default_rng(4)
    rows, signs = rng.integers(-1, 2, (14, 2)).astype(float), rng.choice([-1.0, 1.0], 14)
    basis, _ = np.linalg.qr(rows)
    every = np.array(list(product((-1.0, 1.0), repeat=14)))
    fitting = every[np.all(np.abs(every @ basis - signs @ basis) < 1e-9, axis=1)]
    assert len(fitting) > 20
    batch = LabelSums(np.arange(14), basis, basis.T @ signs, np.zeros(14), np.zeros(2))
    found = np.exp(2 * label_posterior([batch], 14).theta)
    assert np.max(np.abs(found / (1 + found) - (fitting > 0).mean(axis=0))) < 0.08
    assert np.allclose(basis.T @ smallest_norm(batch), batch.sums)
