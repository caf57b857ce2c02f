"""The table of whole numbers from 0 on with XᵀX = α, certified: genotypes 0, 1, 2, counts, codes.

**Certificate.** Let the columns of X generate ℤᵐ (rank m, index 1). If X′ is another such table with the same α, some
rotation takes X to X′, hence ℤᵐ to a lattice of determinant 1 within ℤᵐ, which is ℤᵐ; it permutes the unit vectors up
to sign. No row is zero, and none has a negative entry, so that no sign changes: X′ is X with its rows reordered. Zeros
and ones have the column of ones besides (``binary_table``); other whole numbers do without, and need more columns.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.binary.binary_table import BinaryTables, Outcome, not_semidefinite, sorted_rows
from fedleak.attacks.binary.block_reduction import strengthen
from fedleak.attacks.binary.lattice import reduced_lattice
from fedleak.attacks.binary.table_search import Budget, OutOfBudgetError
from fedleak.core.arrays import IntArray
from fedleak.core.exact_integers import to_array

METHOD = "lattice reduction"


def whole_number_table(gram: IntArray, n_rows: int, budget: Budget) -> BinaryTables:
    """The one table, or why there is none to be named."""
    flaw = not_semidefinite(gram) if np.array_equal(gram, gram.T) else "α is not symmetric"
    if flaw:
        return BinaryTables(Outcome.NONE, (), METHOD, flaw)
    lattice = reduced_lattice(gram)
    if lattice.rank != n_rows or lattice.determinant != 1:
        why = f"the columns generate a lattice of rank {lattice.rank} in {n_rows} dimensions, not all of ℤ^{n_rows}"
        return BinaryTables(Outcome.UNDETERMINED, (), METHOD, why, lattice.rank)
    try:
        lattice = lattice if lattice.is_orthonormal else strengthen(lattice, budget)
    except OutOfBudgetError:
        why = f"X is unique, but reduction of the {n_rows}-dimensional lattice did not end within the budget"
        return BinaryTables(Outcome.UNDETERMINED, (), METHOD, why, n_rows, 1)
    rows = to_array(lattice.coordinates)
    rows = rows * np.where(rows.sum(axis=1) < 0, -1, 1)[:, None]
    if (rows < 0).any() or not np.array_equal(rows.T @ rows, gram):
        return BinaryTables(Outcome.NONE, (), METHOD, "α is of no table of whole numbers from 0 on", n_rows, 1)
    why = f"the columns generate ℤ^{n_rows}: any other table of whole numbers from 0 on is this one, rows reordered"
    return BinaryTables(Outcome.UNIQUE, (sorted_rows(rows),), METHOD, why, n_rows, 1)
