"""Integers g from integer equations Z g = E, exactly, although the solver works in floating point."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import qr, solve_triangular

from fedleak.core.arrays import AnyArray, FloatArray, IntArray

MAX_REFINEMENTS = 40
MACHINE_WORD_BITS = 62


def solve_integers(matrix: IntArray, right: Sequence[int]) -> list[int] | None:
    """The unique integer solution of a system with at least as many equations as unknowns; None if there is none.

    Least squares, rounding, and refinement with exact residuals: each pass gains the digits that the system's
    condition leaves of float64. What is returned satisfies every equation exactly.
    """
    n_equations, n_unknowns = matrix.shape
    if n_equations < n_unknowns:
        return None
    left, upper = qr(matrix.astype(np.float64), mode="economic")
    pivots = np.abs(np.diag(upper))
    if pivots.min() <= 1e-12 * pivots.max():
        return None
    wide = _is_wide(matrix, right)
    exact_matrix = matrix.astype(object) if wide else matrix
    target = np.array(right, dtype=object if wide else np.int64)
    solution = np.zeros(n_unknowns, dtype=exact_matrix.dtype)
    for _ in range(MAX_REFINEMENTS):
        # In machine words the product may wrap, but the difference is small, so modulo 2^64 it is right.
        rest = target - exact_matrix @ solution
        if not rest.any():
            return [int(value) for value in solution]
        correction = _rounded(solve_triangular(upper, left.T @ rest.astype(np.float64)), wide)
        if not correction.any():
            return None
        solution = solution + correction
    return None


def _is_wide(matrix: IntArray, right: Sequence[int]) -> bool:
    largest = max(abs(value) for value in right)
    return largest.bit_length() > MACHINE_WORD_BITS or int(np.abs(matrix).max()).bit_length() > MACHINE_WORD_BITS


def _rounded(values: FloatArray, wide: bool) -> AnyArray:
    rounded: FloatArray = np.rint(values)
    if wide:
        return np.array([int(value) for value in rounded], dtype=object)
    return np.clip(rounded, -(2.0**MACHINE_WORD_BITS), 2.0**MACHINE_WORD_BITS).astype(np.int64)
