"""Whole numbers from real equations: against brute force, and against what float64 really does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.models import LinearModel, Link
from fedleak.models.inversion.equations import score_equations
from fedleak.models.inversion.grid_solution import solve_on_grid
from fedleak.models.inversion.rounding_errors import last_digit, rounding_errors
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
