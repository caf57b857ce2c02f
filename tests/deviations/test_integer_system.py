"""Exact integer solutions by floating-point refinement."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.deviations.packed_products import solve_integers


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(0, 6), st.sampled_from([20, 44, 52, 150]))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_a_random_system_gives_back_its_integers(seed, n_unknowns, n_spare, bits):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-31, 32, size=(n_unknowns + n_spare, n_unknowns))
    values = [int.from_bytes(rng.bytes(bits // 8), "big") * int(rng.choice([-1, 1])) for _ in range(n_unknowns)]
    right = [int(v) for v in matrix.astype(object) @ np.array(values, dtype=object)]
    found = solve_integers(matrix, right)
    if np.linalg.matrix_rank(matrix) == n_unknowns:
        assert found == values
    else:
        assert found is None or list(matrix.astype(object) @ np.array(found, dtype=object)) == right


def test_a_wrong_right_side_is_no_solution():
    rng = np.random.default_rng(1)
    matrix = rng.integers(-31, 32, size=(20, 12))
    right = [int(v) for v in matrix @ rng.integers(-1000, 1000, 12)]
    right[3] += 1
    assert solve_integers(matrix, right) is None


@pytest.mark.parametrize("matrix", [np.zeros((3, 4), dtype=np.int64), np.ones((4, 2), dtype=np.int64)])
def test_too_few_equations_or_rank_is_no_solution(matrix):
    assert solve_integers(matrix, [0] * len(matrix)) is None
