"""Inner products that a binary table can have, and why given ones cannot be a binary table's."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import IntArray

FLOAT_SLACK = 1e-6  # of the largest entry: a matrix with an eigenvalue below minus this is not semidefinite


def binary_flaw(gram: IntArray, n_rows: int | None = None) -> str | None:
    """Why no table of zeros and ones (of ``n_rows`` rows, if known) has these inner products; None if nothing speaks
    against it. For 0/1 columns α_ij counts the rows in which both are 1, and α_ii those in which one is."""
    ones = gram.diagonal()
    if not np.array_equal(gram, gram.T):
        return "α is not symmetric"
    if (gram < 0).any():
        return f"α has a negative entry ({gram.min()}), and counts are not negative"
    if (gram > np.minimum.outer(ones, ones)).any():
        return "two columns share more ones than one of them has"
    if n_rows is not None and (ones > n_rows).any():
        return f"a column has {ones.max()} ones in {n_rows} rows"
    if n_rows is not None and (np.add.outer(ones, ones) - gram > n_rows).any():
        return f"two columns need more than {n_rows} rows"
    return not_semidefinite(gram if n_rows is None else with_ones(gram, n_rows))


def not_semidefinite(gram: IntArray) -> str | None:
    slack = FLOAT_SLACK * max(1.0, float(gram.diagonal().max(initial=0)))
    try:
        np.linalg.cholesky(gram + slack * np.eye(len(gram)))
    except np.linalg.LinAlgError:
        smallest = np.linalg.eigvalsh(gram.astype(np.float64))[0]
        return f"α is not positive semidefinite (smallest eigenvalue {smallest:.3g})"
    return None


def with_ones(gram: IntArray, n_rows: int) -> IntArray:
    """The Gram matrix with the all-ones column appended.

    For a binary column x·1 = x·x, so the column that nobody sent has known inner products with all others. It makes
    lattices finer and fixes the signs of the rows.
    """
    d = len(gram)
    extended = np.empty((d + 1, d + 1), dtype=np.int64)
    extended[:d, :d] = gram
    extended[d, :d] = extended[:d, d] = gram.diagonal()
    extended[d, d] = n_rows
    return extended
