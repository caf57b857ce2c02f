"""Steps of a column: found where there are any, and none made up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.data.column_encoding import regular_step


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    places=st.lists(st.integers(0, 5000), min_size=8, max_size=60, unique=True),  # the closest two within 1000 steps
    step=st.sampled_from([1.0, 0.01, 0.1, 1 / 7, 1 / 5000, 25.0]),
    low=st.integers(-3000, 3000),
)
def test_the_widest_step_is_found(places, step, low):
    values = low * step + np.array(places) * step
    found = regular_step(values)
    widest = np.gcd.reduce(np.array(places) - min(places)) * step
    assert found is not None
    assert found.step == pytest.approx(widest, rel=1e-9)
    distance = (values - values.min()) / found.step
    assert np.abs(distance - np.round(distance)).max() * found.step <= found.slack + 1e-9 * found.step


def test_scaled_whole_numbers_keep_a_step():
    ages = np.random.default_rng(0).integers(17, 95, 500).astype(float)
    scaled = (ages - ages.min()) / np.ptp(ages)
    found = regular_step(scaled)
    assert found is not None
    assert 1 / found.step == pytest.approx(np.ptp(ages))
    assert found.slack < 1e-15


def test_decimals_have_a_slack_because_they_are_not_exact_in_binary():
    prices = np.round(np.random.default_rng(1).uniform(5000, 5200, 400), 1)
    found = regular_step((prices - prices.min()) / np.ptp(prices))
    assert found is not None
    assert 1e-17 < found.slack < 1e-13


@pytest.mark.parametrize(
    "values",
    [np.full(5, 3.0), np.empty(0), np.random.default_rng(2).normal(size=200)],
    ids=["constant", "empty", "real"],
)
def test_no_step_without_a_grid(values):
    assert regular_step(values) is None
