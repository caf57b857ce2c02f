"""The accountant beside published figures and beside dp-accounting 0.6.0."""

from __future__ import annotations

from math import inf, log

import pytest

from fedleak.core.errors import InputError
from fedleak.theory.sampled_gaussian import ORDERS, epsilon_of, renyi_divergence

USUAL = 256 / 60_000


@pytest.mark.parametrize(
    ("sampling", "noise", "steps", "published"),
    [(0.01, 4.0, 10_000, 1.26), (USUAL, 1.12, 60 / USUAL, 2.92)],  # Abadi et al. 2016; TensorFlow Privacy's example
)
def test_published_figures_come_out_by_their_conversion(sampling, noise, steps, published) -> None:
    found = min(steps * renyi_divergence(a, sampling, noise) + log(1e5) / (a - 1) for a in ORDERS)
    assert found == pytest.approx(published, abs=0.005)


@pytest.mark.parametrize(
    ("sampling", "noise", "steps", "delta", "theirs"),
    [
        (0.01, 4.0, 10_000, 1e-5, 1.0354900660362436),
        (USUAL, 1.1, 14_062, 1e-5, 2.5965558697943036),
        (0.05, 1.0, 100, 1e-5, 4.038913049449792),
        (1.0, 2.0, 20, 1e-5, 12.301691480042894),
        (0.2, 0.8, 50, 1e-3, 12.545602749054412),
    ],
)
def test_the_package_says_the_same(sampling, noise, steps, delta, theirs) -> None:
    """It has broken orders too: ours may be a little above, never below."""
    ours = epsilon_of(noise=noise, sampling=sampling, steps=steps, delta=delta)
    assert theirs - 1e-9 <= ours <= 1.02 * theirs


def test_limits() -> None:
    assert epsilon_of(noise=0.0, sampling=1.0, steps=1, delta=1e-5) == inf
    assert epsilon_of(noise=1.0, sampling=1.0, steps=0, delta=1e-5) == 0.0
    with pytest.raises(InputError, match="delta must be between 0 and 1"):
        epsilon_of(noise=1.0, sampling=1.0, steps=1, delta=0.0)
    for noise, sampling, steps in ((1.0, 1.5, 1), (1.0, 0.0, 1), (-1.0, 0.5, 1), (1.0, 0.5, -1)):
        with pytest.raises(InputError, match="sampling must be in"):
            epsilon_of(noise=noise, sampling=sampling, steps=steps, delta=1e-5)
