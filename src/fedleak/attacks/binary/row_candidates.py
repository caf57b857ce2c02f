"""All binary rows that a table with given inner products can contain.

A row x of X is a functional on the lattice of X's columns: a vector of the dual lattice whose norm, the row's
leverage xᵀ α⁺ x, is at most 1. Fincke–Pohst enumeration in a reduced basis lists all such vectors; those with binary
values on every column, and 1 on the all-ones column, are the candidates.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.binary.budget import Budget
from fedleak.attacks.binary.lattice import ReducedLattice
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.exact_integers import to_array

SLACK = 1e-7  # on the norm, against rounding: it lets candidates in, and exact arithmetic decides on them later


def row_candidates(lattice: ReducedLattice, budget: Budget) -> IntArray:
    """Rows (candidates, columns); the lattice's last column must be the all-ones column, which is left out."""
    basis = to_array(lattice.basis_gram).astype(np.float64)
    coordinates = to_array(lattice.coordinates)
    form: FloatArray = np.asarray(np.linalg.inv(basis), dtype=np.float64)
    values = _short_vectors(form, 1.0 + SLACK, budget)
    rows = values @ coordinates
    # A vector and its negative are both listed once: the all-ones column tells which of them is a row.
    rows = np.concatenate([rows, -rows])
    binary = (rows[:, -1] == 1) & ((rows == 0) | (rows == 1)).all(axis=1)
    found: IntArray = np.unique(rows[binary][:, :-1], axis=0)
    return found


def _short_vectors(form: FloatArray, bound: float, budget: Budget) -> IntArray:
    """Integer y ≠ 0 with yᵀ form y ≤ bound, one of each ±pair; breadth first, a level at a time."""
    n = len(form)
    upper = np.linalg.cholesky(form).T  # yᵀ form y = |upper y|², decided from the last coordinate upwards
    diagonal = upper.diagonal()
    ratios = upper / diagonal[:, None]
    partial = np.zeros((1, n), dtype=np.int64)
    left = np.array([bound])
    for level in range(n - 1, -1, -1):
        centre = -partial[:, level + 1 :] @ ratios[level, level + 1 :]
        reach = np.sqrt(np.maximum(left, 0.0)) / diagonal[level]
        low = np.ceil(centre - reach - 1e-9).astype(np.int64)
        high = np.floor(centre + reach + 1e-9).astype(np.int64)
        # With all later coordinates zero, y and -y are the same search: keep the non-negative half.
        untouched = ~partial[:, level + 1 :].any(axis=1)
        low = np.where(untouched, np.maximum(low, 0), low)
        counts = np.maximum(high - low + 1, 0)
        budget.spend(int(counts.sum()))
        parent = np.repeat(np.arange(len(partial)), counts)
        first = np.repeat(np.cumsum(counts) - counts, counts)
        value = low[parent] + np.arange(len(parent)) - first
        left = left[parent] - ((value - centre[parent]) * diagonal[level]) ** 2
        partial = partial[parent]
        partial[:, level] = value
        partial, left = partial[left >= -SLACK], left[left >= -SLACK]
    return partial[partial.any(axis=1)]
