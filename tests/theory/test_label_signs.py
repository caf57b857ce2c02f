"""The safe rounds of corollary 4.5, checked against the recursion that they come from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedleak.theory.label_signs import safe_rounds


@given(rate=st.floats(1e-3, 2.0), first=st.floats(0.0, 1.99), norm=st.floats(0.1, 3.0))
def test_the_bound_of_lemma_4_4_stays_below_4_for_just_that_long(rate, first, norm):
    growth = 1 + rate * norm**2 / 4
    rounds = safe_rounds(rate, first, norm)
    assert (2 + first) * growth ** (rounds - 1) < 4 * (1 + 1e-9)
    assert (2 + first) * growth**rounds >= 4 * (1 - 1e-9)


def test_theorem_4_6_for_the_papers_learning_rate():
    assert safe_rounds(0.01, 0.0, 1.0) == int(np.ceil(np.log(2) / np.log(1 + 0.01 / 4)))


@pytest.mark.parametrize("first", [2.0, 5.0])
def test_a_large_start_has_no_safe_round(first):
    assert safe_rounds(0.01, first, 1.0) == 0


def test_simulated_training_never_breaks_the_bound():
    """Worst-case rows: all equal and of norm 1, so that every step adds up."""
    rng = np.random.default_rng(0)
    rate = 0.5
    rows = rng.standard_normal((40, 3))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    signs = rng.choice([-1.0, 1.0], 40)
    weights = np.zeros(3)
    for _ in range(safe_rounds(rate, 0.0, 1.0)):
        assert np.abs(rows @ weights).max() < 2
        weights -= rate * rows.T @ (rows @ weights - 2 * signs) / (4 * len(rows))
