"""Binary tables with given inner products by search, within a budget: by columns, or by choosing among given rows.

For fewer columns than rows the search goes column by column. Rows with an equal prefix are one class, so row order
never multiplies the work; a new column gives each class a number of ones, and that its inner products with the earlier
columns come out right is a small integer system. Where candidates for the rows are known, Σ_k n_k x_k x_kᵀ = α is
linear in the counts n_k. A search that reaches its budget says "undetermined".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.exact_integers import matrix


class OutOfBudgetError(Exception):
    """A search reached its limit; what it has is incomplete."""


@dataclass
class Budget:
    """Search nodes, which are the same on every machine; the clock belongs to whoever runs the attack."""

    nodes: int = 2_000_000  # some seconds

    def spend(self, nodes: int = 1) -> None:
        self.nodes -= nodes
        if self.nodes < 0:
            raise OutOfBudgetError

    def share(self, part: float) -> Budget:
        """A budget of its own for a part of the work."""
        return Budget(int(part * self.nodes))


NODES_A_BRANCH = 1000  # what a node of the integer program's solver, a linear program of its own, counts
RowClass = tuple[tuple[int, ...], int]  # prefix, number of rows that have it


def search_columns(gram: IntArray, n_rows: int, budget: Budget, *, limit: int = 2) -> list[IntArray]:
    """Up to ``limit`` tables, different also up to row order; fewer than ``limit`` means that there are no more."""
    counts = [[int(value) for value in row] for row in gram]
    tables = []
    for classes in _extend([((), n_rows)], counts, 0, budget):
        tables.append(np.array([prefix for prefix, size in classes for _ in range(size)], dtype=np.int64))
        if len(tables) == limit:
            break
    return tables


def _extend(classes: list[RowClass], gram: list[list[int]], column: int, budget: Budget) -> Iterator[list[RowClass]]:
    if column == len(gram):
        yield classes
        return
    targets = gram[column][: column + 1]
    # A row's membership: the earlier columns in which it is 1, and the new column's own count.
    members = [[i for i, bit in enumerate(prefix) if bit] + [column] for prefix, _ in classes]
    sizes = [size for _, size in classes]
    for ones in _splits(sizes, members, targets, budget):
        split = []
        for (prefix, size), count in zip(classes, ones, strict=True):
            if count:
                split.append(((*prefix, 1), count))
            if size - count:
                split.append(((*prefix, 0), size - count))
        yield from _extend(split, gram, column + 1, budget)


def _splits(
    sizes: Sequence[int], members: Sequence[Sequence[int]], targets: Sequence[int], budget: Budget
) -> Iterator[list[int]]:
    """Ones for each class so that every column's count is met; what later classes can still give bounds each choice."""
    capacity = [0] * len(targets)
    later = []
    for size, mine in zip(reversed(sizes), reversed(members), strict=True):
        later.append({i: capacity[i] for i in mine})
        for i in mine:
            capacity[i] += size
    later.reverse()
    if any(target > room for target, room in zip(targets, capacity, strict=True)):
        return
    open_counts, ones = list(targets), [0] * len(sizes)

    def choose(position: int) -> Iterator[list[int]]:
        budget.spend()
        if position == len(sizes):
            if not any(open_counts):
                yield list(ones)
            return
        mine, room = members[position], later[position]
        most = min(sizes[position], *(open_counts[i] for i in mine))
        least = max(0, *(open_counts[i] - room[i] for i in mine))
        for count in range(least, most + 1):
            ones[position] = count
            for i in mine:
                open_counts[i] -= count
            yield from choose(position + 1)
            for i in mine:
                open_counts[i] += count

    yield from choose(0)


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
    from scipy.optimize import LinearConstraint, milp

    budget.spend()
    result = milp(
        cost,
        constraints=LinearConstraint(system, target, target),
        integrality=np.ones(len(cost), dtype=np.int64),
        options={"node_limit": max(budget.nodes // NODES_A_BRANCH, 1)},
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
