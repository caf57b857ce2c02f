from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.attacks.predictions.equality_bayes import learn_means, posterior_cells, prior_of_columns
from fedleak.attacks.predictions.equality_projection import project_to_box


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.integers(1, 8), st.integers(1, 12), st.integers(0, 10_000))
def test_the_projection_is_feasible_and_no_row_gets_worse(n_equations: int, extra: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    width = n_equations + extra
    matrix = np.linalg.qr(rng.normal(size=(width, n_equations)))[0].T
    truth = np.clip(rng.normal(0.5, 0.6, size=(30, width)), 0, 1)  # many cells on the border
    right = truth @ matrix.T
    start = right @ matrix
    projected = project_to_box(start, matrix, right)
    assert projected.residual.max() < 1e-10
    assert projected.points.min() >= 0
    assert projected.points.max() <= 1
    before, after = ((start - truth) ** 2).sum(axis=1), ((projected.points - truth) ** 2).sum(axis=1)
    assert (after <= before + 1e-12).all()


def test_it_agrees_with_a_quadratic_program() -> None:
    from scipy.optimize import minimize

    rng = np.random.default_rng(1)
    matrix = np.linalg.qr(rng.normal(size=(5, 2)))[0].T
    right = np.array([0.9, 0.9, 0.1, 0.0, 1.0]) @ matrix.T
    start = rng.normal(size=5) * 2
    found = project_to_box(start[None], matrix, right[None]).points[0]
    best = minimize(
        lambda x: ((x - start) ** 2).sum(),
        np.full(5, 0.5),
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda x: matrix @ x - right},
        tol=1e-12,
    )
    np.testing.assert_allclose(found, best.x, atol=1e-5)


def test_a_contradiction_between_box_and_equations_shows_in_the_residual() -> None:
    projected = project_to_box(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]]), np.array([[1.5]]))
    assert projected.residual[0] > 0.4
    assert projected.points[0, 0] == 1.0


def test_the_prior_takes_its_mean_from_own_columns_and_learns_from_predictions() -> None:
    rng = np.random.default_rng(2)
    own = rng.beta(1, 4, size=(500, 12))
    hidden = rng.beta(1, 4, size=(500, 6))
    prior = prior_of_columns(own, 6)
    assert abs(prior.mean[0] - 0.2) < 0.08
    matrix = np.linalg.qr(rng.normal(size=(6, 3)))[0].T
    right = hidden @ matrix.T
    learnt = learn_means(prior, matrix, right, 12)
    truth = hidden.mean(axis=0)
    assert ((learnt.mean - truth) ** 2).sum() < ((prior.mean - truth) ** 2).sum()
    cells = posterior_cells(learnt, matrix, right, np.zeros((500, 3, 3)))
    np.testing.assert_allclose(cells @ matrix.T, right, atol=1e-12)
    vague = posterior_cells(learnt, matrix, right, np.broadcast_to(1e9 * np.eye(3), (500, 3, 3)))
    np.testing.assert_allclose(vague, np.broadcast_to(learnt.mean, vague.shape), atol=1e-6)
