"""The one place that touches python-flint: exact integer matrices and lattice reduction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import MissingExtraError

if TYPE_CHECKING:
    from flint import fmpz_mat

Rows = list[list[int]]


def matrix(rows: AnyArray | Rows) -> fmpz_mat:
    """An exact integer matrix; entries may be of any size."""
    try:
        from flint import fmpz_mat
    except ImportError as error:
        raise MissingExtraError.of("python-flint", "lattice", "solving for whole numbers") from error
    return fmpz_mat(rows.tolist() if isinstance(rows, np.ndarray) else rows)


def to_rows(exact: fmpz_mat) -> Rows:
    return [[int(value) for value in row] for row in exact.tolist()]


def to_array(exact: fmpz_mat) -> IntArray:
    return np.array(to_rows(exact), dtype=np.int64).reshape(exact.nrows(), exact.ncols())


def reduce_rows(basis: Rows) -> Rows:
    """LLL on independent rows."""
    return to_rows(matrix(basis).lll())


def reduce_gram(gram: fmpz_mat) -> tuple[fmpz_mat, fmpz_mat]:
    """LLL on a positive definite Gram matrix: (reduced Gram T G Tᵀ, T).

    The library ends the whole process on a singular Gram matrix, so the determinant is looked at first.
    """
    if gram.det() <= 0:
        raise ValueError("a Gram matrix to reduce must be positive definite")
    if gram.nrows() == 1:
        return gram, matrix([[1]])
    reduced, transform = gram.lll(True, 0.99, 0.51, "gram")
    return reduced, transform


def solve_rational(gram: fmpz_mat, right: fmpz_mat) -> tuple[fmpz_mat, int]:
    """G⁻¹ R as (integer numerators, common denominator)."""
    from flint import fmpq_mat

    solution = gram.solve(right)
    assert isinstance(solution, fmpq_mat)
    numerators, denominator = solution.numer_denom()
    return numerators, int(denominator)
