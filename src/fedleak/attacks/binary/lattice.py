"""The lattice that integer columns generate, from their inner products alone, and the binary rows that it can contain.

The columns of X lie in ℤᵐ and generate a lattice L. Their Gram matrix fixes L up to a rotation; a reduced basis of L
with the coordinates of every column in it is all that the later steps need. Everything is exact.

A row x of X is a functional on L: a vector of the dual lattice whose norm, the row's leverage xᵀ α⁺ x, is at most 1.
Fincke–Pohst enumeration in a reduced basis lists all such vectors; those with binary values on every column, and 1 on
the all-ones column, are the candidates.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from fedleak.attacks.binary.table_search import Budget
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.exact_integers import Rows, matrix, reduce_gram, solve_rational, to_array

if TYPE_CHECKING:
    from flint import fmpz_mat


@dataclass(frozen=True, eq=False)
class ReducedLattice:
    """``basis_gram`` is the Gram matrix B of a reduced basis; ``coordinates`` W write the columns in it: α = WᵀBW."""

    basis_gram: fmpz_mat
    coordinates: fmpz_mat

    @property
    def rank(self) -> int:
        return int(self.basis_gram.nrows())

    @property
    def determinant(self) -> int:
        """Square of the index in ℤʳ, for a lattice of full rank r = m."""
        return int(self.basis_gram.det())

    @property
    def is_orthonormal(self) -> bool:
        """Reduced to unit vectors: then W is X itself, up to the order and the signs of its rows."""
        return all(int(self.basis_gram[i, i]) == 1 for i in range(self.rank))


def reduced_lattice(gram: IntArray) -> ReducedLattice:
    """Reduce the lattice of columns with this (positive semidefinite, integer) Gram matrix."""
    chosen = independent_columns(gram)
    sub_gram, products = matrix(gram[np.ix_(chosen, chosen)]), matrix(gram[chosen])
    numerators, denominator = solve_rational(sub_gram, products)
    if denominator != 1:
        # The finer basis is H / denominator in terms of the chosen columns.
        taken = set(chosen)
        others = (j for j in range(len(gram)) if j not in taken)
        vectors = ([int(numerators[i, j]) for i in range(len(chosen))] for j in others)
        change = matrix(_generated(vectors, denominator, len(chosen), int(sub_gram.det())))
        sub_gram = _divided(change * sub_gram * change.transpose(), denominator**2)
        products = _divided(change * products, denominator)
    basis_gram, transform = reduce_gram(sub_gram)
    products = transform * products
    if all(int(basis_gram[i, i]) == 1 for i in range(len(chosen))):
        return ReducedLattice(basis_gram, products)  # an orthonormal basis: inner products are coordinates
    numerators, denominator = solve_rational(basis_gram, products)
    return ReducedLattice(basis_gram, _divided(numerators, denominator))


def _divided(exact: fmpz_mat, divisor: int) -> fmpz_mat:
    """Exact division of every entry; the library raises where it leaves a remainder."""
    return exact if divisor == 1 else exact / divisor


def _generated(vectors: Iterable[list[int]], modulus: int, rank: int, sub_determinant: int) -> Rows:
    """Triangular basis of modulus·ℤʳ + the vectors; stops as soon as the lattice is unimodular, which is all of ℤʳ."""
    basis = [[modulus if i == j else 0 for j in range(rank)] for i in range(rank)]
    for vector in vectors:
        _insert(basis, [value % modulus for value in vector], modulus)
        pivots = prod(basis[i][i] for i in range(rank))
        if sub_determinant * pivots**2 == modulus ** (2 * rank):
            break
    return basis


def _insert(basis: Rows, vector: list[int], modulus: int) -> None:
    """Add one vector to a triangular basis that contains modulus·ℤʳ, by extended gcds down the diagonal."""
    rank = len(basis)
    for j in range(rank):
        entry, row = vector[j], basis[j]
        pivot = row[j]
        if entry % pivot == 0:
            factor = entry // pivot
            if factor:
                vector[j:] = [(v - factor * b) % modulus for v, b in zip(vector[j:], row[j:], strict=True)]
            continue
        gcd, s, t = _extended_gcd(pivot, entry)
        u, w = pivot // gcd, entry // gcd
        combined = [(s * b + t * v) % modulus for b, v in zip(row[j:], vector[j:], strict=True)]
        vector[j:] = [(u * v - w * b) % modulus for b, v in zip(row[j:], vector[j:], strict=True)]
        basis[j] = [0] * j + [gcd, *combined[1:]]


def _extended_gcd(a: int, b: int) -> tuple[int, int, int]:
    x, next_x, y, next_y = 1, 0, 0, 1
    while b:
        quotient = a // b
        a, b = b, a - quotient * b
        x, next_x = next_x, x - quotient * next_x
        y, next_y = next_y, y - quotient * next_y
    return a, x, y


# With the largest remaining column taken first, remainders of integer columns are either of the order of 0.1 or
# rounding. Between these bounds only exact arithmetic decides.
SURELY_NONZERO = 1e-3
SURELY_ZERO = 1e-8


def independent_columns(gram: IntArray) -> list[int]:
    """Positions of independent columns, as many as the rank (Cholesky with pivoting; exact where floats may err)."""
    from scipy.linalg.lapack import dpstrf

    scale = max(float(gram.diagonal().max(initial=0)), 1.0)
    factor, order, rank, _ = dpstrf(gram.astype(np.float64), tol=SURELY_ZERO * scale)
    chosen = (order[:rank] - 1).tolist()
    while chosen and float(factor[len(chosen) - 1, len(chosen) - 1]) ** 2 < SURELY_NONZERO * scale:
        if matrix(gram[np.ix_(chosen, chosen)]).det() != 0:
            break
        chosen.pop()
    return sorted(chosen)


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
