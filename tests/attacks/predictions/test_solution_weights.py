"""Which of several solutions is likely, from all rows together."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions.grid_answer import N_BINS, _counted_bins, solution_weights
from fedleak.models.inversion.counted_columns import ColumnHistogram


def test_rows_together_tell_which_solution_is_right():
    """Values near 0.1 in every row, each beside a wrong one anywhere: alone no row could tell."""
    rng = np.random.default_rng(2)
    right, wrong = rng.normal(0.1, 0.02, size=(300, 2)), rng.random((300, 2))
    points = np.stack([right, wrong], axis=1).reshape(-1, 2)
    rows = np.repeat(np.arange(300), 2)
    even = np.full((2, N_BINS), 50.0 / N_BINS)
    weights = solution_weights(rows, points, even)
    np.testing.assert_allclose(weights.reshape(-1, 2).sum(axis=1), 1.0)
    assert weights[::2].mean() > 0.95
    assert (solution_weights(rows[::2], right, even) == 1.0).all()


def test_counted_rows_tell_which_value_is_common():
    """Two values fit every row; the trees counted three rows in four below the threshold between them."""
    rows, points = np.repeat(np.arange(40), 2), np.tile([[0.0], [1.0]], (40, 1))
    column = ColumnHistogram(np.array([0.0, 0.5, 1.0]), np.array([0.75, 0.25]))
    weights = solution_weights(rows, points, _counted_bins(column, 1)[None])
    np.testing.assert_allclose(weights[::2], 0.75, atol=0.02)
