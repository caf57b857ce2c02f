"""Approximated residuals and their inverses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.core.facts import SIGMOIDS
from fedleak.models.sigmoid import (
    CUBIC,
    CUBIC_SAFE_SCORE,
    LINEAR,
    TURNING_POINT,
    Approximation,
    cubic_roots,
    residual,
    score_interval,
)

scores = st.floats(-9, 9)
signs = st.sampled_from([-1.0, 1.0])


@given(scores, signs)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_taylor_inverts(score: float, sign: float) -> None:
    r = residual(np.array([score]), np.array([sign]), Approximation.TAYLOR)
    value, low, high = score_interval(r, np.array([sign]), Approximation.TAYLOR)
    assert value[0] == pytest.approx(score, abs=1e-12)
    assert low[0] == high[0] == value[0]


@given(scores, signs)
@settings(derandomize=True, deadline=None, max_examples=300)
def test_cubic_contains_the_score_and_its_middle_root_is_right_up_to_the_turning_point(
    score: float, sign: float
) -> None:
    r = residual(np.array([score]), np.array([sign]), Approximation.CUBIC)
    roots = cubic_roots(r + sign / 2)
    assert np.min(np.abs(roots - score)) < 1e-5
    assert np.all(np.diff(roots[0]) >= 0)
    assert CUBIC * roots**3 + LINEAR * roots == pytest.approx(float(r[0] + sign / 2), abs=1e-9)
    if abs(score) < TURNING_POINT - 1e-3:
        assert score_interval(r, np.array([sign]), Approximation.CUBIC)[0][0] == pytest.approx(score, abs=1e-6)


def test_cubic_has_one_root_outside_the_band() -> None:
    roots = cubic_roots(np.array([3.0, -3.0]))
    assert np.ptp(roots, axis=1).tolist() == [0.0, 0.0]
    assert roots[0, 0] < -TURNING_POINT
    assert roots[1, 0] > TURNING_POINT


@given(scores, signs)
@settings(derandomize=True, deadline=None, max_examples=200)
def test_piecewise_is_exact_in_the_middle_and_a_half_line_outside(score: float, sign: float) -> None:
    r = residual(np.array([score]), np.array([sign]), Approximation.PIECEWISE)
    value, low, high = score_interval(r, np.array([sign]), Approximation.PIECEWISE)
    assert low[0] - 1e-6 <= score <= high[0] + 1e-6
    if abs(score) < 0.499:
        assert value[0] == pytest.approx(score, abs=1e-12)
    if abs(score) > 0.5:
        assert np.isnan(value[0])


def test_sign_is_the_label_below_the_safe_score() -> None:
    z = np.linspace(-CUBIC_SAFE_SCORE, CUBIC_SAFE_SCORE, 2001)
    for sign in (-1.0, 1.0):
        assert np.all(np.sign(residual(z, np.full_like(z, sign), Approximation.CUBIC)) == -sign)
    beyond = residual(np.array([3.3]), np.array([1.0]), Approximation.CUBIC)
    assert beyond[0] > 0  # the bound is tight


def test_public_facts_know_every_approximation():
    assert {member.value for member in Approximation} == set(SIGMOIDS)
