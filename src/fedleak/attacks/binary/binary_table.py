"""The binary table X with XᵀX = α, with a certificate that it is the only one (up to row order), or what is certain.

**Certificate.** Let E = [X | 1], and let its columns generate ℤᵐ (rank m, index 1). If a binary X′ has the same α, then
E′ = [X′ | 1] has the same Gram matrix as E, because x·1 = x·x. Some rotation takes E to E′, hence ℤᵐ to a lattice of
determinant 1 within ℤᵐ, which is ℤᵐ; a rotation of ℤᵐ onto itself permutes the unit vectors up to sign, and since it
keeps 1, it is a permutation. So X′ is X with its rows reordered. An α that no binary table has is told why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from fedleak.attacks.binary.block_reduction import strengthen
from fedleak.attacks.binary.lattice import ReducedLattice, reduced_lattice, row_candidates
from fedleak.attacks.binary.table_search import Budget, OutOfBudgetError, search_columns, select_rows
from fedleak.core.arrays import IntArray
from fedleak.core.exact_integers import to_array


class Outcome(StrEnum):
    UNIQUE = "unique"  # certified, up to row order
    SEVERAL = "2 or more solutions"
    NONE = "no binary table"
    UNDETERMINED = "undetermined"  # the budget ended


@dataclass(frozen=True, eq=False)
class BinaryTables:
    """What was found; ``method`` is how, ``why`` the certificate or the flaw in words."""

    outcome: Outcome
    tables: tuple[IntArray, ...]
    method: str
    why: str
    rank: int = 0
    index_squared: int | None = None  # of the columns' lattice in ℤᵐ, where its rank is m


def binary_tables(gram: IntArray, n_rows: int, budget: Budget) -> BinaryTables:
    """Solve XᵀX = α for X ∈ {0, 1}^(n_rows × d)."""
    flaw = binary_flaw(gram, n_rows)
    if flaw:
        return BinaryTables(Outcome.NONE, (), "count checks", flaw)
    lattice = reduced_lattice(with_ones(gram, n_rows))
    if lattice.rank > n_rows:
        return BinaryTables(
            Outcome.NONE, (), "rank", f"α has rank {lattice.rank} with the column of ones, over {n_rows} rows"
        )
    found = _by_lattice(lattice, gram, n_rows, budget) or _by_search(lattice, gram, n_rows, budget)
    index = lattice.determinant if lattice.rank == n_rows else None
    return replace(found, rank=lattice.rank, index_squared=index)


def _by_lattice(lattice: ReducedLattice, gram: IntArray, n_rows: int, budget: Budget) -> BinaryTables | None:
    """The certified case; None where the certificate does not apply."""
    if lattice.rank < n_rows or lattice.determinant != 1:
        return None
    method = "lattice reduction"
    if not lattice.is_orthonormal:
        method = "block reduction"
        try:
            lattice = strengthen(lattice, budget)
        except OutOfBudgetError:
            why = f"X is unique, but reduction of the {n_rows}-dimensional lattice did not end within the budget"
            return BinaryTables(Outcome.UNDETERMINED, (), method, why)
    rows = to_array(lattice.coordinates)
    rows = (rows * rows[:, -1:])[:, :-1]  # the all-ones column is +1 in every row: it gives the signs
    if not _is_solution(rows, gram):
        return BinaryTables(Outcome.NONE, (), method, "α is a Gram matrix of integer columns, but of no binary ones")
    why = f"the columns and the column of ones generate ℤ^{n_rows}: any other table is this one with its rows reordered"
    return BinaryTables(Outcome.UNIQUE, (sorted_rows(rows),), method, why)


def _by_search(lattice: ReducedLattice, gram: IntArray, n_rows: int, budget: Budget) -> BinaryTables:
    """Dual enumeration where rows are few enough to list; else, or with fewer columns than rows, the column search."""
    searches: list[tuple[str, Callable[[Budget], tuple[list[IntArray], bool]]]] = [
        ("dual enumeration", lambda part: select_rows(row_candidates(lattice, part), gram, n_rows, part)),
        ("column search", lambda part: (search_columns(gram, n_rows, part), True)),
    ]
    if lattice.rank < min(n_rows, 12):
        searches.reverse()
    for method, search in searches:
        try:
            tables, complete = search(budget.share(0.5))
        except OutOfBudgetError:
            continue
        tables = [sorted_rows(table) for table in tables if _is_solution(table, gram)]
        if len(tables) > 1:
            return BinaryTables(Outcome.SEVERAL, tuple(tables), method, "different tables have these inner products")
        if complete:
            return _complete(tables, method)
        if tables:
            why = "one table was found; the search for another did not end within the budget"
            return BinaryTables(Outcome.UNDETERMINED, tuple(tables), method, why)
    return BinaryTables(Outcome.UNDETERMINED, (), "search", "the searches did not end within the budget")


def _complete(tables: list[IntArray], method: str) -> BinaryTables:
    if tables:
        return BinaryTables(Outcome.UNIQUE, tuple(tables), method, "a complete search found no other table")
    return BinaryTables(Outcome.NONE, (), method, "a complete search found no binary table with these inner products")


def sorted_rows(table: IntArray) -> IntArray:
    """One order for all orders of the rows: lexicographic."""
    ordered: IntArray = table[np.lexsort(table.T[::-1])]
    return ordered


def _is_solution(table: IntArray, gram: IntArray) -> bool:
    return bool(((table == 0) | (table == 1)).all() and np.array_equal(table.T @ table, gram))


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
