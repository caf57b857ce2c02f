"""Whole numbers from real equations: against brute force, and against what float64 really does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.models import LinearModel, Link
from fedleak.models.inversion import grid_solution
from fedleak.models.inversion.equations import FLOAT_ERRORS, last_digit, rounding_errors, score_equations
from fedleak.models.inversion.grid_solution import solve_on_grid
from fedleak.models.inversion.whole_equations import WholeEquations, left_of


def case(seed: int, n_equations: int, steps: list[int], tolerance: float, n_rows: int = 25):
    rng = np.random.default_rng(seed)
    sizes = np.array(steps)
    truth = rng.integers(0, sizes + 1, size=(n_rows, len(steps)))
    coefficients = rng.normal(size=(n_equations, len(steps))) / sizes
    right = truth @ coefficients.T + tolerance * rng.uniform(-1, 1, size=(n_rows, n_equations))
    limits = np.full((n_rows, n_equations), tolerance)
    return truth, WholeEquations(np.arange(n_rows), coefficients, right, limits, sizes)


def by_brute_force(equations: WholeEquations) -> list[set[tuple[int, ...]]]:
    points = np.array(list(product(*(range(size + 1) for size in equations.steps))))
    gap = np.abs(points @ equations.coefficients.T - equations.right[:, None, :])
    holds = (gap <= equations.tolerance[:, None, :]).all(axis=2)
    return [{tuple(map(int, point)) for point in points[row]} for row in holds]


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    n_equations=st.integers(1, 3),
    steps=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    tolerance=st.sampled_from([1e-14, 1e-9, 1e-4, 3e-3]),
)
def test_every_solution_that_brute_force_finds_is_listed(seed, n_equations, steps, tolerance):
    _, equations = case(seed, n_equations, steps, tolerance)
    found = solve_on_grid(equations, np.full(len(steps), 0.5))
    assert found.listed
    listed: list[set[tuple[int, ...]]] = [set() for _ in equations.rows]
    for row, point in zip(found.rows, np.rint(found.points * equations.steps), strict=True):
        listed[row].add(tuple(map(int, point)))
    assert listed == by_brute_force(equations)


def test_forty_bits_come_out_of_one_equation():
    truth, equations = case(3, 1, [999, 4000, 80, 9, 1, 3, 1], 1e-14, n_rows=200)
    found = solve_on_grid(equations, np.full(7, 0.5))
    assert found.listed
    np.testing.assert_array_equal(found.rows, np.arange(200))
    np.testing.assert_array_equal(np.rint(found.points * equations.steps), truth)


def test_a_grid_that_is_too_fine_is_left_alone():
    _, equations = case(4, 1, [10**6] * 4, 1e-14)
    assert equations.expected_solutions > 1e6
    assert not len(solve_on_grid(equations, np.full(4, 0.5)).rows)


def test_columns_without_weight_do_not_fill_the_memory(monkeypatch):
    """All of their values fit every row, though by chance hardly any point would."""
    rng, steps = np.random.default_rng(6), np.array([999, 10, 10])
    truth = np.column_stack([rng.integers(0, size + 1, 50) for size in steps])
    coefficients = np.array([[1.0, 0.0, 0.0]]) / steps
    equations = WholeEquations(np.arange(50), coefficients, truth @ coefficients.T, np.full((50, 1), 1e-14), steps)
    assert equations.expected_solutions < 1e-6
    assert len(solve_on_grid(equations, np.full(3, 0.5)).rows) == 50 * 121
    monkeypatch.setattr(grid_solution, "MOST_CELLS", 3 * 5000)
    found = solve_on_grid(equations, np.full(3, 0.5))
    assert not found.listed
    np.testing.assert_array_equal(found.rows, np.arange(50))
    np.testing.assert_array_equal(np.rint(found.points[:, 0] * 999), truth[:, 0])
    np.testing.assert_allclose(found.points[:, 1:], 0.5)


def test_the_expected_number_of_solutions_is_about_what_is_counted():
    _, equations = case(5, 1, [9, 9, 9, 9, 9], 1e-2, n_rows=60)
    counted = np.mean([len(solutions) for solutions in by_brute_force(equations)])
    assert counted / 3 < equations.expected_solutions < counted * 3


@pytest.mark.parametrize("link", list(Link))
@pytest.mark.parametrize("scale", [0.3, 3.0, 12.0])
def test_the_truth_is_within_the_tolerance_of_its_own_equations(link, scale):
    rng = np.random.default_rng(7)
    n_classes = 1 if link is Link.SIGMOID else 4
    weights = scale * rng.normal(size=(n_classes, 9))
    model = LinearModel(tuple("abcdefghi"), weights, rng.normal(size=n_classes), link)
    rows = rng.random((3000, 9))
    confidences = model.confidences(rows)
    own, hidden = np.arange(4), np.arange(4, 9)
    worst = 0.0
    for equations in score_equations(model, confidences, rows[:, own], own, hidden):
        allowed = rounding_errors(equations, confidences)
        gap = np.abs(rows[equations.rows][:, hidden] @ equations.matrix.T - equations.right)
        worst = max(worst, float((gap / allowed).max()))
    assert 0.01 < worst < 1  # neither too tight nor so loose that digits are wasted


@pytest.mark.parametrize("n_columns", [500, 2000])
def test_long_sums_of_one_sign_stay_within_the_tolerance(n_columns):
    rng = np.random.default_rng(1)
    model = LinearModel(
        tuple(f"c{i}" for i in range(n_columns)), np.full((1, n_columns), 8 / 3 / n_columns), np.zeros(1), Link.SIGMOID
    )
    rows = np.round(rng.random((400, n_columns)), 1)
    own, hidden = np.arange(n_columns - 5), np.arange(n_columns - 5, n_columns)
    for some in (rows, rows[:1]):  # one row goes another way through the sum
        confidences = model.confidences(some)
        (equations,) = score_equations(model, confidences, some[:, own], own, hidden)
        gap = np.abs(some[:, hidden] @ equations.matrix.T - equations.right)
        assert (gap < rounding_errors(equations, confidences)).all()


def test_two_solutions_at_both_ends_of_the_tolerance_are_both_listed():
    rng = np.random.default_rng(0)
    n_tried = 0
    for _ in range(300):
        steps = rng.integers(1, 6, size=3)
        one, other, weights = rng.integers(0, steps + 1), rng.integers(0, steps + 1), rng.normal(size=3)
        between = (one - other).astype(np.float64)
        if not between.any():
            continue
        tolerance = FLOAT_ERRORS * 2.0**-53 * np.abs(weights * steps).sum()
        # Weights by which the two are (nearly) two tolerances apart, and a right side half way.
        weights -= between * (weights @ between - 2 * tolerance * rng.uniform(0.999, 1)) / (between @ between)
        right = np.array([[(one + other) @ weights / 2]])
        equations = WholeEquations(np.arange(1), weights[None], right, np.array([[tolerance]]), steps)
        if not equations.hold(np.array([[one, other]])).all():
            continue  # a rounding error came between
        found = solve_on_grid(equations, np.full(3, 0.5))
        if not found.listed or not len(found.rows):
            continue
        n_tried += 1
        listed = {tuple(map(int, point)) for point in np.rint(found.points * steps)}
        assert {tuple(map(int, one)), tuple(map(int, other))} <= listed
    assert n_tried > 50


def test_single_precision_is_noticed():
    confidences = np.random.default_rng(0).random((10, 3))
    assert last_digit(confidences) == 2.0**-53
    assert last_digit(confidences.astype(np.float32).astype(np.float64)) == 2.0**-24


def test_what_is_left_of_the_equations_does_not_contain_the_eliminated():
    matrix = np.random.default_rng(1).normal(size=(5, 3))
    keep = left_of(matrix)
    assert keep.shape == (2, 5)
    assert np.abs(keep @ matrix).max() < 1e-14
    assert left_of(np.ones((2, 4))).shape == (1, 2)
    assert left_of(np.empty((2, 0))).shape == (2, 2)
