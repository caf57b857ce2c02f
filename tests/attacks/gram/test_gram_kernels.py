"""The Gram matrix from a simulated training."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.gram.gram_estimate import GramEstimate, estimate_gram, naive_gram
from fedleak.attacks.residuals.trajectory import Round, Trajectory
from fedleak.attacks.verdicts import NotIdentified


def train(
    width: int,
    n_rows: int,
    batch: int,
    epochs: int,
    *,
    l2: float = 0.01,
    noise: float = 1e-13,
    shuffle: bool = True,
    start: float = 1.0,
    seed: int = 0,
) -> tuple[Trajectory, np.ndarray, np.ndarray]:
    """Linear regression of two parties in floating point; the attacker's columns are as many as a batch has rows."""
    rng = np.random.default_rng(seed)
    victim, own = rng.standard_normal((n_rows, width)), rng.standard_normal((n_rows, batch))
    labels = rng.standard_normal(n_rows)
    rate = 0.5 * batch / float(np.linalg.norm(np.hstack([victim, own]), 2) ** 2)
    weights, mine = start * rng.standard_normal(width), start * rng.standard_normal(batch)
    order, rounds = rng.permutation(n_rows), []
    for _ in range(epochs):
        for first in range(0, n_rows, batch):
            rows = order[first : first + batch]
            scores = victim[rows] @ weights + noise * rng.standard_normal(len(rows))
            residuals = scores + own[rows] @ mine - labels[rows]
            rounds.append(Round(rows, rate, residuals, scores))
            weights = weights - rate * (victim[rows].T @ residuals / len(rows) + l2 * weights)
            mine = mine - rate * (own[rows].T @ residuals / len(rows) + l2 * mine)
        order = rng.permutation(n_rows) if shuffle else order
    return Trajectory(n_rows, l2, tuple(rounds), noise), victim, weights


def relative_error(gram: np.ndarray, rows: np.ndarray) -> float:
    true = rows @ rows.T
    return float(np.linalg.norm(gram - true) / np.linalg.norm(true))


@pytest.mark.parametrize(("width", "n_rows"), [(1, 4), (3, 12), (6, 6)])
def test_one_recurring_batch(width, n_rows):
    trajectory, rows, weights = train(width, n_rows, n_rows, 80)
    found = estimate_gram(trajectory, width, np.random.default_rng(0))
    assert isinstance(found, GramEstimate)
    assert relative_error(found.gram, rows) < 1e-8
    np.testing.assert_allclose(found.end_scores, rows @ weights, atol=1e-8)


def test_rank_awareness_gains_digits_over_the_papers_way():
    trajectory, rows, _ = train(3, 24, 24, 120)
    found = estimate_gram(trajectory, 3, np.random.default_rng(0))
    assert relative_error(found.gram, rows) < 1e-3 * relative_error(naive_gram(trajectory), rows)


@pytest.mark.parametrize(("width", "n_rows", "batch"), [(3, 20, 7), (8, 24, 12)])
def test_shuffled_batches_give_the_inner_products_of_all_rows(width, n_rows, batch):
    trajectory, rows, weights = train(width, n_rows, batch, n_rows + 6)
    found = estimate_gram(trajectory, width, np.random.default_rng(0))
    assert isinstance(found, GramEstimate)
    assert relative_error(found.gram, rows) < 1e-7
    np.testing.assert_allclose(found.end_scores, rows @ weights, atol=1e-6)


@pytest.mark.parametrize("noise", [1e-13, 1e-10])
def test_the_expected_error_is_the_real_one_within_an_order(noise):
    trajectory, rows, _ = train(5, 20, 10, 28, noise=noise, seed=3)
    found = estimate_gram(trajectory, 5, np.random.default_rng(0))
    error = relative_error(found.gram, rows)
    assert error / 10 < found.gram_error < error * 10


def test_too_few_epochs_is_said():
    trajectory, _, _ = train(3, 20, 10, 12)
    found = estimate_gram(trajectory, 3, np.random.default_rng(0))
    assert isinstance(found, NotIdentified)
    assert "21 visits are needed" in found.why


def test_a_converged_model_is_said():
    """After thousands of rounds nothing moves: the first rounds are cut off here."""
    trajectory, _, _ = train(4, 10, 10, 30000, l2=0.0)
    late = Trajectory(10, 0.0, trajectory.rounds[-60:], trajectory.noise)
    found = estimate_gram(late, 4, np.random.default_rng(0))
    assert isinstance(found, NotIdentified)


def test_batches_that_recur_without_shuffling_are_said_to_be_collinear():
    trajectory, _, _ = train(3, 40, 20, 60, shuffle=False)
    found = estimate_gram(trajectory, 3, np.random.default_rng(0))
    assert isinstance(found, NotIdentified)
