"""Which of several solutions is likely, from all rows together."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions.grid_answer import solution_weights


def test_rows_together_tell_which_solution_is_right():
    """Values near 0.1 in every row, each beside a wrong one anywhere: alone no row could tell."""
    rng = np.random.default_rng(2)
    right, wrong = rng.normal(0.1, 0.02, size=(300, 2)), rng.random((300, 2))
    points = np.stack([right, wrong], axis=1).reshape(-1, 2)
    rows = np.repeat(np.arange(300), 2)
    weights = solution_weights(rows, points, own=rng.random((300, 3)))
    np.testing.assert_allclose(weights.reshape(-1, 2).sum(axis=1), 1.0)
    assert weights[::2].mean() > 0.95
    assert (solution_weights(rows[::2], right, own=rng.random((5, 1))) == 1.0).all()
