"""Unit vectors of a lattice that is ℤᵐ in disguise, where LLL alone stops short of them (m above about 80).

Block reduction (BKZ): the shortest vector of each projected block is inserted into the basis, then LLL. As soon as a
unit vector e appears the lattice splits into ℤe and its complement, and the search goes on in one dimension less.
All vectors are exact; floats only guide the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.binary.lattice import ReducedLattice
from fedleak.attacks.binary.table_search import Budget, OutOfBudgetError
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.exact_integers import matrix, reduce_gram, to_array

BLOCK_SIZES = (12, 20, 26, 32)
MAX_NODES = 200_000  # of one enumeration; a block that needs more is skipped
GAIN = 0.99  # an inserted vector must be shorter than the old one by this factor


@dataclass(frozen=True, eq=False)
class _Basis:
    """Gram matrix of the basis, and its inner products with the table's columns (for a unit vector: a row of X)."""

    gram: IntArray
    products: IntArray

    @property
    def size(self) -> int:
        return len(self.gram)

    def changed(self, transform: IntArray) -> _Basis:
        return _Basis(transform @ self.gram @ transform.T, transform @ self.products)

    def reduced(self) -> _Basis:
        if self.size < 2:
            return self
        _, transform = reduce_gram(matrix(self.gram))
        return self.changed(to_array(transform))


def strengthen(lattice: ReducedLattice, budget: Budget) -> ReducedLattice:
    """The same unimodular lattice in a basis of unit vectors; OutOfBudgetError where that is not reached."""
    gram = to_array(lattice.basis_gram)
    basis = _Basis(gram, gram @ to_array(lattice.coordinates))
    rows: list[IntArray] = []
    for block_size in BLOCK_SIZES:
        improved = True
        while improved:
            basis, units = _split_units(basis)
            rows += units
            if not basis.size:
                identity = np.eye(len(rows), dtype=np.int64)
                return ReducedLattice(matrix(identity), matrix(np.array(rows)))
            basis, improved = _tour(basis, block_size, budget)
    raise OutOfBudgetError


def _split_units(basis: _Basis) -> tuple[_Basis, list[IntArray]]:
    """Take unit vectors out; what remains is orthogonal to them, exactly."""
    found: list[IntArray] = []
    while basis.size and basis.gram.diagonal().min() == 1:
        unit = int(np.argmin(basis.gram.diagonal()))
        along, row = basis.gram[unit], basis.products[unit]
        rest = np.arange(basis.size) != unit
        gram = (basis.gram - np.outer(along, along))[np.ix_(rest, rest)]
        products = (basis.products - np.outer(along, row))[rest]
        found.append(row)
        basis = _Basis(gram, products).reduced()
    return basis, found


def _tour(basis: _Basis, block_size: int, budget: Budget) -> tuple[_Basis, bool]:
    """Once over all blocks; ends early at a unit vector."""
    improved = False
    factor = np.linalg.cholesky(basis.gram.astype(np.float64)).T
    for start in range(basis.size - 1):
        budget.spend()
        stop = min(start + block_size, basis.size)
        combination = _shorter_vector(factor[start:stop, start:stop])
        if combination is None:
            continue
        basis = basis.changed(_insertion(combination, start, basis.size)).reduced()
        improved = True
        if basis.gram.diagonal().min() == 1:
            break
        factor = np.linalg.cholesky(basis.gram.astype(np.float64)).T
    return basis, improved


def _insertion(combination: IntArray, start: int, size: int) -> IntArray:
    """Unimodular: the combination goes to the front of its block, in place of a vector that it contains once."""
    replaced = int(np.flatnonzero(np.abs(combination) == 1)[-1])
    transform = np.eye(size, dtype=np.int64)
    block = transform[start : start + len(combination)].copy()
    transform[start] = combination @ block
    transform[start + 1 : start + len(combination)] = np.delete(block, replaced, axis=0)
    return transform


def _shorter_vector(factor: FloatArray) -> IntArray | None:
    """The shortest combination found that is shorter than the block's first vector and can replace one of its own."""
    n = len(factor)
    diagonal = factor.diagonal()
    ratios = factor / diagonal[:, None]
    # Linear pruning: a part of the coordinates may use up its share of the squared length, and a little more.
    allowed = GAIN * diagonal[0] ** 2 * np.minimum(1.0, np.arange(1, n + 1) / n + 0.12)
    partial = np.zeros((1, n), dtype=np.int64)
    used = np.zeros(1)
    for level in range(n - 1, -1, -1):
        centre = -partial[:, level + 1 :] @ ratios[level, level + 1 :]
        reach = np.sqrt(np.maximum(allowed[n - 1 - level] - used, 0.0)) / diagonal[level]
        low, high = np.ceil(centre - reach).astype(np.int64), np.floor(centre + reach).astype(np.int64)
        untouched = ~partial[:, level + 1 :].any(axis=1)
        low = np.where(untouched, np.maximum(low, 0), low)  # v and -v are the same find
        counts = np.maximum(high - low + 1, 0)
        if not 0 < counts.sum() <= MAX_NODES:
            return None
        parent = np.repeat(np.arange(len(partial)), counts)
        value = low[parent] + np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
        used = used[parent] + ((value - centre[parent]) * diagonal[level]) ** 2
        partial = partial[parent]
        partial[:, level] = value
    usable = (np.abs(partial) == 1).any(axis=1)
    if not usable.any():
        return None
    shortest: IntArray = partial[usable][np.argmin(used[usable])]
    return shortest
