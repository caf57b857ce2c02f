"""Columns that span: a largest set of independent columns, from their inner products."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.gram.integers import matrix
from fedleak.core.arrays import FloatArray, IntArray

# With the largest remaining column taken first, remainders of integer columns are either of the order of 0.1 or
# rounding. Between these bounds only exact arithmetic decides.
SURELY_NONZERO = 1e-3
SURELY_ZERO = 1e-8


def independent_columns(gram: IntArray) -> list[int]:
    """Positions of independent columns, as many as the rank (Cholesky with pivoting; exact where floats may err)."""
    rest: FloatArray = gram.astype(np.float64)
    scale = max(float(rest.diagonal().max(initial=0.0)), 1.0)
    chosen: list[int] = []
    while len(chosen) < len(gram):
        best = int(np.argmax(rest.diagonal()))
        remainder = float(rest[best, best]) / scale
        if remainder < SURELY_ZERO or (remainder < SURELY_NONZERO and _dependent(gram, [*chosen, best])):
            break
        chosen.append(best)
        column = rest[:, best].copy()
        rest -= np.outer(column, column) / column[best]
        rest[best, :] = rest[:, best] = 0.0
    return sorted(chosen)


def _dependent(gram: IntArray, positions: list[int]) -> bool:
    return bool(matrix(gram[np.ix_(positions, positions)]).det() == 0)
