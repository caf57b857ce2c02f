"""Rotations that known cells leave: all of them, none, one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedleak.attacks.inversion.rotation_problem import Anchor, RotationProblem, factor_of
from fedleak.attacks.inversion.rotation_search import search
from fedleak.attacks.inversion.rotation_solve import Answer, invert
from fedleak.papers.li2021.tables import plan_cells
from fedleak.theory.rotation_freedom import most_solutions, staircase


def table(n_rows: int, width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n_rows, width))


def cells(n_rows: int, width: int, seed: int, *, extra: int, with_weights: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 1])
    counts = staircase(width, with_weights=with_weights, extra=extra)
    pairs = [
        (row, column)
        for row, count in zip(rng.permutation(n_rows), counts, strict=False)
        for column in rng.permutation(width)[:count]
    ]
    found = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def problem(rows: np.ndarray, where, *, weights=None, change=None) -> RotationProblem:
    values = rows[where].copy()
    if change is not None:
        values[change] += 0.3
    anchor = None if weights is None else Anchor(weights, rows @ weights)
    factor = factor_of(rows @ rows.T, rows.shape[1])
    return RotationProblem(factor, where[0], where[1], values, anchor, tolerance=1e-7)


def solve(case: RotationProblem):
    return invert(case, rng=np.random.default_rng(0))


@given(width=st.integers(1, 8), more_rows=st.integers(0, 6), seed=st.integers(0, 1000), with_weights=st.booleans())
def test_one_known_cell_more_a_row_gives_the_table_back(width, more_rows, seed, with_weights):
    rows = table(width + more_rows, width, seed)
    weights = table(1, width, seed + 1)[0] if with_weights else None
    found = solve(problem(rows, cells(*rows.shape, seed, extra=1, with_weights=with_weights), weights=weights))
    assert found.answer is Answer.UNIQUE
    np.testing.assert_allclose(found.candidates[0], rows, atol=1e-5)


@given(width=st.integers(2, 7), seed=st.integers(0, 1000), with_weights=st.booleans())
def test_every_solution_of_a_minimal_pattern_satisfies_everything_that_is_known(width, seed, with_weights):
    rows = table(width + 3, width, seed)
    weights = table(1, width, seed + 1)[0] if with_weights else None
    case = problem(rows, cells(*rows.shape, seed, extra=0, with_weights=with_weights), weights=weights)
    found = search(case)
    assert found.complete
    assert 2 <= len(found.rotations) <= most_solutions(width, with_weights=with_weights)
    for rotation in found.rotations:
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(width), atol=1e-8)
        assert case.misfit(rotation) < 1e-4
    distances = [np.abs(case.factor @ rotation - rows).max() for rotation in found.rotations]
    assert min(distances) < 1e-3  # the victim's own table is among them


def test_two_columns_and_the_weights_leave_a_reflection():
    """The paper calls this case inverted without any known cell (its KDR is 0)."""
    rows, weights = table(6, 2, 3), np.array([1.0, 2.0])
    none = np.zeros(0, dtype=np.int64)
    found = solve(problem(rows, (none, none), weights=weights))
    assert found.answer is Answer.SEVERAL
    assert len(found.candidates) == 2
    for candidate in found.candidates:
        np.testing.assert_allclose(candidate @ candidate.T, rows @ rows.T, atol=1e-9)
        np.testing.assert_allclose(candidate @ weights, rows @ weights, atol=1e-9)
    assert np.abs(found.candidates[0] - found.candidates[1]).max() > 0.1


def test_a_single_further_cell_chooses_between_them():
    rows, weights = table(6, 2, 3), np.array([1.0, 2.0])
    found = solve(problem(rows, (np.array([4]), np.array([1])), weights=weights))
    assert found.answer is Answer.UNIQUE
    np.testing.assert_allclose(found.candidates[0], rows, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_wrong_cell_is_a_contradiction_not_a_number(seed):
    rows, weights = table(9, 5, seed), table(1, 5, seed + 50)[0]
    where = cells(9, 5, seed, extra=2, with_weights=True)
    found = solve(problem(rows, where, weights=weights, change=3))
    assert found.answer is Answer.CONTRADICTION
    assert found.candidates == ()


def test_too_few_cells_leave_a_family():
    rows = table(9, 5, 0)
    found = solve(problem(rows, (np.array([0, 1]), np.array([0, 1]))))
    assert found.answer is Answer.TOO_FEW
    assert found.free_directions > 0
    assert found.candidates == ()


def test_scattered_cells_are_fitted_together():
    """No row is known well enough to start the row-by-row search."""
    rows = table(40, 6, 1)
    picks = np.random.default_rng(2).choice(240, 70, replace=False)
    found = solve(problem(rows, np.unravel_index(picks, rows.shape), weights=table(1, 6, 9)[0]))
    assert found.answer is Answer.UNIQUE
    np.testing.assert_allclose(found.candidates[0], rows, atol=1e-6)


def test_noise_in_the_gram_matrix_grows_by_the_condition_only():
    rows, weights = table(30, 10, 4), table(1, 10, 5)[0]
    where = cells(30, 10, 4, extra=2, with_weights=True)
    noise = 1e-9 * np.random.default_rng(0).standard_normal((30, 30))
    factor = factor_of(rows @ rows.T + noise + noise.T, 10)
    case = RotationProblem(factor, *where, rows[where], Anchor(weights, rows @ weights), tolerance=1e-8)
    found = solve(case)
    assert found.answer is Answer.UNIQUE
    assert np.abs(found.candidates[0] - rows).max() < 1e-9 * 100 * found.condition


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_weights", [True, False])
def test_a_search_that_was_cut_short_never_calls_its_answer_the_only_one(seed, with_weights):
    """A minimal pattern has several answers; wherever the search stops, what it has seen is not all."""
    rows = table(7, 4, seed)
    weights = table(1, 4, seed + 1)[0] if with_weights else None
    case = problem(rows, cells(*rows.shape, seed, extra=0, with_weights=with_weights), weights=weights)
    whole = solve(case)
    assert whole.answer is Answer.SEVERAL
    stopped = [invert(case, rng=np.random.default_rng(0), max_nodes=nodes) for nodes in range(1, whole.n_nodes)]
    assert all(found.answer is not Answer.UNIQUE for found in stopped)
    assert any(found.answer is Answer.BUDGET for found in stopped), "with one answer seen so far"


def random_table(seed: int) -> tuple[RotationProblem, np.ndarray]:
    """Rows that a trajectory gives up to errors of 1e-10 to 1e-5, stolen weights, and cells as the construction needs
    them with none to three more."""
    rng = np.random.default_rng([77, seed])
    width = int(rng.integers(3, 13))
    n_rows = int(rng.integers(width + 2, 3 * width + 4))
    rows = rng.standard_normal((n_rows, width))
    if rng.random() < 0.5:
        rows = rows * 10.0 ** rng.uniform(-1, 0.3, width)
    error = 10.0 ** rng.uniform(-10, -5)
    turn = np.linalg.qr(rng.standard_normal((width, width)))[0]
    size = np.sqrt(np.mean(rows**2))
    factor = rows @ turn.T + error * rng.standard_normal((n_rows, width)) * size
    plan = plan_cells(rows, np.random.default_rng([seed, 3]))
    known = plan.knowledge("v", rows, int(rng.integers(0, 4))).cells[0]
    weights = rng.standard_normal(width)
    cells = (np.asarray(known.ids), np.asarray(known.columns), np.asarray(known.values))
    return RotationProblem(factor, *cells, Anchor(weights, rows @ weights), 10 * error * size), rows


@pytest.mark.parametrize("seed", [583, 5429, 6957, 2])
def test_a_table_that_fits_is_not_the_only_one_where_another_was_missed_by_errors(seed):
    """Of 583 the true table ends beside a fit, because cells hold one direction weakly, and another table fits. Of 5429
    and 6957 another one fits less well than errors explain, and the true one is not found. Of 2 it is."""
    case, rows = random_table(seed)
    found = solve(case)
    assert found.answer is not Answer.UNIQUE or np.abs(found.candidates[0] - rows).max() < 0.01
