"""Which of the candidate rows, and how often each: Σ_k n_k x_k x_kᵀ = α is linear in the counts n_k."""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint, milp

from fedleak.attacks.binary.budget import Budget, OutOfBudgetError
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.exact_integers import matrix

MAX_CANDIDATES = 3000


def select_rows(candidates: IntArray, gram: IntArray, n_rows: int, budget: Budget) -> tuple[list[IntArray], bool]:
    """Up to two tables made of the candidates, and whether the list is known to be complete."""
    if not len(candidates):
        return [], True
    if len(candidates) > MAX_CANDIDATES:
        raise OutOfBudgetError
    upper = np.triu_indices(len(gram))
    pairs = (candidates[:, upper[0]] * candidates[:, upper[1]]).T
    system = np.vstack([pairs, np.ones((1, len(candidates)), dtype=np.int64)])
    target = np.append(gram[upper], n_rows)
    counts = np.rint(np.linalg.lstsq(system.astype(np.float64), target.astype(np.float64), rcond=None)[0])
    if _solves(counts, system, target) and _full_column_rank(system):
        return [_table(candidates, counts)], True
    return _by_programming(candidates, system, target, budget)


def _by_programming(
    candidates: IntArray, system: IntArray, target: IntArray, budget: Budget
) -> tuple[list[IntArray], bool]:
    """Two integer programs: any table; then one with as few of the first one's rows as possible."""
    first, proven = _program(np.zeros(len(candidates)), system, target, budget)
    if first is None:
        return [], proven
    used = first > 0
    second, proven = _program(used.astype(np.float64), system, target, budget)
    tables = [_table(candidates, first)]
    if second is not None and not np.array_equal(first, second):
        return [*tables, _table(candidates, second)], True
    # The optimum keeps all rows: another table would have to use the same rows with other counts.
    return tables, proven and _full_column_rank(system[:, used])


def _program(cost: FloatArray, system: IntArray, target: IntArray, budget: Budget) -> tuple[FloatArray | None, bool]:
    """(counts, proven): without counts, ``proven`` says that none exist."""
    budget.spend()
    result = milp(
        cost,
        constraints=LinearConstraint(system, target, target),
        integrality=np.ones(len(cost), dtype=np.int64),
        options={"time_limit": budget.remaining},
    )
    if result.x is None:
        return None, result.status == 2  # 2: infeasible; anything else is a limit
    counts = np.rint(result.x)
    return (counts, result.status == 0) if _solves(counts, system, target) else (None, False)


def _solves(counts: FloatArray, system: IntArray, target: IntArray) -> bool:
    return bool((counts >= 0).all() and np.array_equal(system @ counts.astype(np.int64), target))


def _full_column_rank(system: IntArray) -> bool:
    """Exactly; a float rank is asked first because it is cheap and mostly decides."""
    n_columns: int = system.shape[1]
    if n_columns > system.shape[0] or int(np.linalg.matrix_rank(system.astype(np.float64))) < n_columns:
        return False
    return int(matrix(system.T @ system).rank()) == n_columns


def _table(candidates: IntArray, counts: FloatArray) -> IntArray:
    return np.repeat(candidates, counts.astype(np.int64), axis=0)
