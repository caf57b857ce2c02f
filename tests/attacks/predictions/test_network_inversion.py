"""Kernels of posterior inference on networks: the regression on own columns, the scores, the inversion of all rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fedleak.attacks.predictions.mixed_effects import ColumnRegression, Learnt, invert_scores, learn, regression_prior
from fedleak.attacks.predictions.network_rows import (
    LEAST_CONFIDENCE,
    NetworkScores,
    onto_predictions,
    wanted_differences,
)
from fedleak.attacks.predictions.prediction_case import PredictionCase, Release
from fedleak.models import NetworkModel
from fedleak.models.score_models import Link


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def network(widths: tuple[int, ...], link: Link = Link.SOFTMAX) -> NetworkModel:
    generator = np.random.default_rng(11)
    return NetworkModel(
        tuple(f"x{i}" for i in range(widths[0])),
        tuple(generator.normal(size=(out, into)) * (2 / into) ** 0.5 for into, out in pairwise(widths)),
        tuple(0.1 * generator.normal(size=out) for out in widths[1:]),
        link,
    )


def case_of(model: NetworkModel, rows: np.ndarray, n_own: int, release: Release | None = None) -> PredictionCase:
    width = rows.shape[1]
    unknown = np.arange(n_own, width)
    return PredictionCase(
        model, model, np.arange(len(rows)), model.confidences(rows), rows[:, :n_own], np.arange(n_own), unknown,
        np.zeros(len(unknown)), np.ones(len(unknown)), True, np.arange(len(unknown)), release or Release(),
    )  # fmt: skip


def inverted(case: PredictionCase, model: NetworkModel) -> np.ndarray:
    return invert_scores(case, NetworkScores(model), wanted_differences(case, model.link), rng()).values


def some_prior(n_rows: int, n_terms: int, n_unknown: int) -> ColumnRegression:
    generator = rng()
    basis = np.column_stack([np.ones(n_rows), generator.normal(size=(n_rows, n_terms - 1))])
    return ColumnRegression(
        basis, generator.normal(size=(n_unknown, n_terms)), generator.random((n_unknown, n_terms)) + 0.1, 0.3
    )


@pytest.mark.parametrize("tempering", [1.0, 0.2])
def test_the_regression_is_the_gaussian_posterior_written_out(tempering):
    prior, generator = some_prior(30, 4, 3), rng()
    matrix, right = generator.normal(size=(30, 2, 3)), generator.normal(size=(30, 2))
    inverse = np.linalg.inv(matrix @ matrix.swapaxes(1, 2) * prior.row_variance + 0.1 * np.eye(2))
    design = np.einsum("nkd,np->nkdp", matrix, prior.basis).reshape(30, 2, 12)
    precision = np.diag(1 / prior.variance.ravel())
    pull = prior.mean.ravel() / prior.variance.ravel()
    for rows, values, weight in zip(design, right, inverse, strict=True):
        precision = precision + tempering * rows.T @ weight @ rows
        pull = pull + tempering * rows.T @ weight @ values
    learnt = learn(prior, matrix, right, inverse, tempering)
    np.testing.assert_allclose(learnt.precision, precision, rtol=1e-9)
    np.testing.assert_allclose(learnt.coefficients.ravel(), np.linalg.solve(precision, pull), rtol=1e-8)


def test_rows_with_different_equations_tell_columns_apart_that_no_row_does():
    prior, generator = some_prior(400, 3, 4), rng()
    true = generator.normal(size=(4, 3))
    matrix = generator.normal(size=(400, 1, 4))
    right = np.einsum("nkd,nd->nk", matrix, prior.centres(true))
    learnt = learn(prior, matrix, right, np.full((400, 1, 1), 1e6), 1.0)
    np.testing.assert_allclose(learnt.coefficients, true, atol=1e-3)


def test_draws_spread_as_the_precision_says():
    learnt = Learnt(np.array([[1.0, -2.0]]), np.linalg.inv(np.array([[0.5, 0.2], [0.2, 0.3]])))
    generator = rng()
    drawn = np.array([learnt.draw(generator).ravel() for _ in range(4000)])
    np.testing.assert_allclose(drawn.mean(axis=0), [1.0, -2.0], atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), [[0.5, 0.2], [0.2, 0.3]], atol=0.05)


def test_own_columns_that_follow_one_another_promise_slopes_and_little_rest():
    generator = rng()
    common = generator.random((300, 1))
    alike = regression_prior(common + 0.01 * generator.random((300, 4)), 2)
    unlike = regression_prior(generator.random((300, 4)), 2)
    assert alike.row_variance < 0.1 * unlike.row_variance
    assert alike.variance[0, 1] > 10 * unlike.variance[0, 1]
    assert alike.mean.shape == (2, 5)


@pytest.mark.parametrize("own", [np.empty((20, 0)), np.ones((20, 2)), np.linspace(0, 1, 20)[:, None]])
def test_few_or_constant_own_columns_still_give_a_prior(own):
    prior = regression_prior(own, 3)
    assert np.isfinite(prior.basis).all()
    assert (prior.variance > 0).all()
    assert prior.row_variance > 0


@pytest.mark.parametrize(("link", "n_out"), [(Link.SOFTMAX, 4), (Link.SIGMOID, 1), (Link.SIGMOID_EACH, 3)])
def test_exact_confidences_are_score_differences(link, n_out):
    model, rows = network((5, 12, n_out), link), rng().random((40, 5))
    wanted, variance = wanted_differences(case_of(model, rows, 3), link)
    np.testing.assert_allclose(wanted, NetworkScores(model).at(rows), atol=1e-9)
    assert np.abs(variance).max() < 1e-20


def test_a_confidence_of_zero_says_next_to_nothing_and_rounding_says_less():
    model, rows = network((5, 12, 3)), rng().random((6, 5))
    case = case_of(model, rows, 3)
    zeroed = case.confidences.copy()
    zeroed[0] = (1.0, 0.0, 0.0)
    object.__setattr__(case, "confidences", zeroed)
    variance = wanted_differences(case, Link.SOFTMAX)[1]
    assert variance[0, 0, 0] > 0.5 * np.log(LEAST_CONFIDENCE) ** 2
    assert variance[1, 0, 0] < 1e-20
    rounded = wanted_differences(case_of(model, rows, 3, Release(digits=2)), Link.SOFTMAX)[1]
    assert rounded[1, 0, 0] > 1e-6


def test_steps_of_a_row_end_at_the_truth_and_never_fit_worse():
    rows = rng().random((100, 6))
    model = network((6, 40, 20, 5))
    case = case_of(model, rows, 3)
    wanted = wanted_differences(case, Link.SOFTMAX)
    start = np.clip(rows[:, 3:] + 0.1 * rng().normal(size=(100, 3)), 0, 1)
    misfits = []
    for n_steps in (0, 1, 4, 25):
        found = onto_predictions(case, NetworkScores(model), wanted, np.eye(3), start, n_steps)
        misfits.append(((NetworkScores(model).at(case.inputs(found)) - wanted[0]) ** 2).sum(axis=1))
        assert found.min() >= 0
        assert found.max() <= 1
    for before, after in pairwise(misfits):
        assert (after <= before).all()
    assert (np.abs(found - rows[:, 3:]).max(axis=1) < 1e-6).mean() > 0.9


def test_rows_whose_confidences_are_not_exact_are_not_moved():
    rows = rng().random((20, 6))
    model = network((6, 20, 5))
    case = case_of(model, rows, 3)
    right, variance = wanted_differences(case, Link.SOFTMAX)
    variance[:10] += 1e-4 * np.eye(4)
    start = np.full((20, 3), 0.5)
    found = onto_predictions(case, NetworkScores(model), (right, variance), np.eye(3), start, 5)
    assert np.array_equal(found[:10], start[:10])
    assert (found[10:] != start[10:]).any(axis=1).all()


def test_an_unknown_that_would_leave_the_box_stays_and_the_others_take_its_part():
    rows = np.hstack([rng().random((50, 2)), np.zeros((50, 1)), 0.3 + 0.4 * rng().random((50, 1))])
    model = network((4, 2))  # one equation for two unknowns, and it is linear: one step all but meets it
    case = case_of(model, rows, 2)
    wanted = wanted_differences(case, Link.SOFTMAX)
    start = np.column_stack([np.zeros(50), np.full(50, 0.5)])
    found = onto_predictions(case, NetworkScores(model), wanted, np.eye(2), start, 1)
    before, after = (np.abs(NetworkScores(model).at(case.inputs(values)) - wanted[0]) for values in (start, found))
    assert (found[:, 0] == 0).mean() > 0.2
    assert (after <= 0.05 * before).all()


def test_as_many_equations_as_unknowns_give_most_rows_exactly():
    rows = rng().random((200, 6))
    model = network((6, 40, 20, 5))
    found = inverted(case_of(model, rows, 3), model)
    error = ((found - rows[:, 3:]) ** 2).mean(axis=1)
    assert np.median(error) < 1e-10
    assert error.mean() < 0.2 / 12


def test_one_equation_a_row_still_teaches_how_columns_follow_own_ones():
    generator = rng()
    # All columns, own and hidden, are mixtures of two things, some of them mirrored.
    common = generator.random((500, 2))
    mixture = np.array([[1, 0], [0, 1], [0.5, 0.5], [-0.7, 0.3], [-1, 0], [0.3, -0.7]])
    rows = common @ mixture.T + np.where(mixture < 0, -mixture, 0).sum(axis=1)
    rows = np.clip(rows + 0.02 * generator.normal(size=rows.shape), 0, 1)
    model = network((6, 40, 20, 2))
    found = inverted(case_of(model, rows, 4), model)
    assert ((found - rows[:, 4:]) ** 2).mean() < 0.25 * rows[:, 4:].var(axis=0).mean()


def test_the_inversion_stays_in_the_box_and_follows_its_randomness():
    rows = rng().random((80, 6))
    model = network((6, 20, 3))
    one, same = (inverted(case_of(model, rows, 2), model) for _ in range(2))
    assert np.array_equal(one, same)
    assert one.min() >= 0
    assert one.max() <= 1
