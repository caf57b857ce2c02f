"""Columns that span: a largest set of independent columns, from their inner products."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpstrf

from fedleak.core.arrays import IntArray
from fedleak.core.exact_integers import matrix

# With the largest remaining column taken first, remainders of integer columns are either of the order of 0.1 or
# rounding. Between these bounds only exact arithmetic decides.
SURELY_NONZERO = 1e-3
SURELY_ZERO = 1e-8


def independent_columns(gram: IntArray) -> list[int]:
    """Positions of independent columns, as many as the rank (Cholesky with pivoting; exact where floats may err)."""
    scale = max(float(gram.diagonal().max(initial=0)), 1.0)
    factor, order, rank, _ = dpstrf(gram.astype(np.float64), tol=SURELY_ZERO * scale)
    chosen = (order[:rank] - 1).tolist()
    while chosen and float(factor[len(chosen) - 1, len(chosen) - 1]) ** 2 < SURELY_NONZERO * scale:
        if matrix(gram[np.ix_(chosen, chosen)]).det() != 0:
            break
        chosen.pop()
    return sorted(chosen)
