"""A reduced basis of the lattice that integer columns generate, from their inner products alone.

The columns of X lie in ℤᵐ and generate a lattice L. Their Gram matrix fixes L up to a rotation; a reduced basis of L
with the coordinates of every column in it is all that the later steps need. Everything is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from fedleak.attacks.binary.span import independent_columns
from fedleak.core.arrays import IntArray
from fedleak.core.exact_integers import Rows, matrix, reduce_gram, solve_rational

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
