"""Binary tables from their inner products: all ways of solving agree with an exhaustive search."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from fedleak.attacks.binary.binary_table import Outcome, binary_flaw, binary_tables, sorted_rows, with_ones
from fedleak.attacks.binary.block_reduction import strengthen
from fedleak.attacks.binary.lattice import reduced_lattice, row_candidates
from fedleak.attacks.binary.table_search import Budget, OutOfBudgetError, search_columns, select_rows
from fedleak.core.exact_integers import matrix, reduce_gram, to_array


def table(m: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (m, d))


def all_tables(gram: np.ndarray, n_rows: int) -> set[bytes]:
    """Every multiset of binary rows with these inner products."""
    rows = [np.array(row) for row in product((0, 1), repeat=len(gram))]
    found = set()
    for chosen in combinations_with_replacement(rows, n_rows):
        stacked = np.array(chosen)
        if np.array_equal(stacked.T @ stacked, gram):
            found.add(sorted_rows(stacked).tobytes())
    return found


@given(m=st.integers(1, 4), d=st.integers(1, 4), seed=st.integers(0, 500))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_agrees_with_the_exhaustive_search(m, d, seed):
    x = table(m, d, seed)
    truth = all_tables(x.T @ x, m)
    found = binary_tables(x.T @ x, m, Budget())
    assert found.outcome is (Outcome.UNIQUE if len(truth) == 1 else Outcome.SEVERAL)
    assert {t.tobytes() for t in found.tables} <= truth


@pytest.mark.parametrize(("m", "d"), [(3, 5), (9, 15), (11, 20), (24, 30)])
def test_a_wide_table_is_certified_and_equal_to_the_truth(m, d):
    x = table(m, d, 3)
    found = binary_tables(x.T @ x, m, Budget())
    assert found.outcome is Outcome.UNIQUE
    assert "reduction" in found.method  # of a lattice, whose basis proves it; no search
    assert np.array_equal(found.tables[0], sorted_rows(x))


@pytest.mark.parametrize("seed", range(12))
def test_lattice_enumeration_and_column_search_agree(seed):
    x = table(7, 7, seed)
    gram = x.T @ x
    by_columns = search_columns(gram, 7, Budget())
    lattice = reduced_lattice(with_ones(gram, 7))
    by_rows, complete = select_rows(row_candidates(lattice, Budget()), gram, 7, Budget())
    assert complete
    assert len(by_rows) == len(by_columns)
    if len(by_rows) == 1:
        assert np.array_equal(sorted_rows(by_rows[0]), sorted_rows(by_columns[0]))


def test_candidates_contain_every_true_row():
    x = table(10, 12, 5)
    candidates = row_candidates(reduced_lattice(with_ones(x.T @ x, 10)), Budget())
    assert {row.tobytes() for row in x} <= {row.tobytes() for row in candidates}
    assert set(candidates.ravel()) == {0, 1}


@given(m=st.integers(2, 9), d=st.integers(2, 14), seed=st.integers(0, 500))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_a_reduced_lattice_reproduces_the_gram_matrix(m, d, seed):
    x = table(m, d, seed)
    if not x.any():
        return
    lattice = reduced_lattice(x.T @ x)
    w, b = to_array(lattice.coordinates), to_array(lattice.basis_gram)
    assert np.array_equal(w.T @ b @ w, x.T @ x)
    assert lattice.rank == np.linalg.matrix_rank(x)


def test_block_reduction_finds_unit_vectors_of_a_disguised_lattice():
    rng = np.random.default_rng(0)
    disguise = np.eye(20, dtype=np.int64)
    for _ in range(60):
        i, j = rng.choice(20, 2, replace=False)
        disguise[i] += rng.integers(-2, 3) * disguise[j]
    lattice = reduced_lattice((disguise @ disguise.T).astype(np.int64))
    unit = strengthen(lattice, Budget())
    rows = to_array(unit.coordinates)
    assert unit.is_orthonormal
    assert np.array_equal(rows.T @ rows, disguise @ disguise.T)


def test_a_singular_gram_matrix_is_refused_rather_than_passed_to_the_library():
    with pytest.raises(ValueError, match="positive definite"):
        reduce_gram(matrix([[1, 1], [1, 1]]))


@pytest.mark.parametrize(
    ("gram", "n_rows", "reason"),
    [
        ([[2, 1], [0, 2]], 3, "symmetric"),
        ([[2, -1], [-1, 2]], 3, "negative"),
        ([[2, 3], [3, 4]], 5, "share more ones"),
        ([[4, 0], [0, 4]], 5, "more than 5 rows"),
        ([[6]], 5, "6 ones in 5 rows"),
        ([[4, 3, 0], [3, 4, 3], [0, 3, 4]], None, "smallest eigenvalue -0.243"),
    ],
)
def test_a_flaw_is_named(gram, n_rows, reason):
    assert reason in (binary_flaw(np.array(gram), n_rows) or "")


def test_integer_columns_that_are_not_binary_are_told():
    x = np.array([[1, 0, 2], [0, 1, 0], [1, 1, 1], [0, 0, 1]])
    found = binary_tables(x.T @ x, 4, Budget())
    assert found.outcome is Outcome.NONE
    assert found.why


def test_a_spent_budget_says_so():
    with pytest.raises(OutOfBudgetError):
        search_columns(table(12, 8, 0).T @ table(12, 8, 0), 12, Budget(nodes=5))
    x = table(30, 20, 0)
    found = binary_tables(x.T @ x, 30, Budget(nodes=3000))
    assert found.outcome is Outcome.UNDETERMINED


# Five rows whose columns, with the column of ones, have rank 5 and index 2: they generate half of the whole numbers.
INDEX_TWO = [table(5, 5, [5, 5, seed]) for seed in (31, 85, 102, 345)]


@pytest.mark.parametrize("x", INDEX_TWO)
def test_columns_that_do_not_generate_all_integers_certify_nothing(x):
    """Full rank is not enough: a rotation of the sublattice may leave it in place and move the rows."""
    found = binary_tables(x.T @ x, 5, Budget())
    assert (found.rank, found.index_squared) == (5, 4)
    assert found.outcome is Outcome.SEVERAL
    one, other = found.tables
    assert np.array_equal(one.T @ one, other.T @ other)
    assert not np.array_equal(sorted_rows(one), sorted_rows(other))
    for nodes in (0, 1, 10, 50, 100, 200, 500, 1000, 2000):
        hurried = binary_tables(x.T @ x, 5, Budget(nodes))
        assert hurried.outcome in (Outcome.SEVERAL, Outcome.UNDETERMINED)
        assert "is unique" not in hurried.why


@pytest.mark.parametrize("x", INDEX_TWO)
def test_a_solver_that_was_stopped_proves_nothing(x, monkeypatch):
    """It may still have a table to show: what it did not get to see could be another."""
    solve = scipy.optimize.milp

    def stopped(*arguments, **options):
        found = solve(*arguments, **options)
        found.x, found.status = (best[0] if best else found.x), 1  # the node limit; it never gets beyond the first
        best.append(found.x)
        return found

    best = []
    monkeypatch.setattr(scipy.optimize, "milp", stopped)
    candidates = row_candidates(reduced_lattice(with_ones(x.T @ x, 5)), Budget())
    tables, complete = select_rows(candidates, x.T @ x, 5, Budget())
    assert (len(tables), complete) == (1, False)
    found = binary_tables(x.T @ x, 5, Budget())
    assert best, "the solver was asked"
    assert found.outcome is Outcome.UNDETERMINED
    assert len(found.tables) == 1
