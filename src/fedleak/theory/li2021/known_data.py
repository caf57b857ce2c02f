"""Known data ratio (section 6.2) and the patterns of known cells of corollary 1."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.errors import InputError
from fedleak.theory.li2021.degrees_of_freedom import degrees_of_freedom


def vertical_kdr(n_features: int, n_rows: int) -> float:
    """KDR_v = (n-1)(n-2) / (2 m n): the cells that theorem 2 asks for, as a share of the victim's table."""
    return degrees_of_freedom(n_features, with_weights=True) / (n_rows * n_features)


def horizontal_kdr(n_features: int, n_rows: int) -> float:
    """KDR_h = (m-1) / (2n) for m <= n, and (2m-n-1) / (2m) for m > n, which is half the table or more."""
    if n_rows <= n_features:
        return (n_rows - 1) / (2 * n_features)
    return (2 * n_rows - n_features - 1) / (2 * n_rows)


def staircase(n_features: int, *, with_weights: bool, extra: int = 0) -> tuple[int, ...]:
    """How many cells of each successive row are known: the construction of lemma 2 (lemma 4 with the weights).

    ``extra`` more in every row make each row a linear solve, and the answer unique: the paper's count does not.
    """
    first = n_features - (2 if with_weights else 1)
    n_rows = n_features - 1 if with_weights else n_features
    return tuple(min(max(first - row, 0) + extra, n_features) for row in range(max(n_rows, 1)))


def staircase_order(known: BoolArray, *, with_weights: bool) -> tuple[int, ...] | None:
    """An order of rows in which a pattern (rows, columns) is a staircase, or None: condition 1 of corollary 1.

    Columns may be anywhere in a row, and rows in any order: the three cases of figure 5 all pass.
    """
    wanted = staircase(known.shape[1], with_weights=with_weights)
    by_count = sorted(range(len(known)), key=lambda row: -int(known[row].sum()))[: len(wanted)]
    if len(by_count) < len(wanted):
        return None
    enough = all(int(known[row].sum()) >= need for row, need in zip(by_count, wanted, strict=True))
    return tuple(by_count) if enough else None


def pattern_condition(rows: FloatArray, known: BoolArray, weights: FloatArray | None = None) -> float:
    """Condition number of the known-cell equations at a table: infinite where they leave a rotation free.

    How much an error in the inner products or in a cell grows in the answer. Minimal patterns reach 1e10 at n = 35.
    """
    width = rows.shape[1]
    if known.shape != rows.shape:
        raise InputError(f"a pattern must have the shape of the table, {rows.shape}; got {known.shape}")
    where, columns = np.nonzero(known)
    equations = [rotation_equations(rows[where], columns, width)]
    if weights is not None:
        first, second = np.triu_indices(width, k=1)
        equations.append(rows[:, first] * weights[second] - rows[:, second] * weights[first])
    singular = np.linalg.svd(np.vstack(equations), compute_uv=False)
    n_unknown = width * (width - 1) // 2
    if len(singular) < n_unknown or singular[n_unknown - 1] <= 1e-14 * singular[0]:
        return float("inf")
    return float(singular[0] / singular[n_unknown - 1])


def rotation_equations(vectors: FloatArray, columns: np.ndarray, width: int) -> FloatArray:
    """d(a exp S)[j] = sum_p a[p] S[p, j] for rows a and columns j; unknowns: S[p, q] with p < q, S[q, p] = -S[p, q]."""
    first, second = np.triu_indices(width, k=1)
    lower = (columns[:, None] == second[None, :]) * vectors[:, first]
    upper = (columns[:, None] == first[None, :]) * vectors[:, second]
    return np.asarray(lower - upper)
