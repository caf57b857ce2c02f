"""Binary tables with given inner products, column by column: for fewer columns than rows.

Rows with an equal prefix are one class, so row order never multiplies the work. A new column gives each class a number
of ones; that the column's inner products with the earlier ones come out right is a small integer system.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedleak.attacks.binary.budget import Budget
from fedleak.core.arrays import IntArray

Class = tuple[tuple[int, ...], int]  # prefix, number of rows that have it


def search_columns(gram: IntArray, n_rows: int, budget: Budget, *, limit: int = 2) -> list[IntArray]:
    """Up to ``limit`` tables, different also up to row order; fewer than ``limit`` means that there are no more."""
    counts = [[int(value) for value in row] for row in gram]
    tables = []
    for classes in _extend([((), n_rows)], counts, 0, budget):
        tables.append(np.array([prefix for prefix, size in classes for _ in range(size)], dtype=np.int64))
        if len(tables) == limit:
            break
    return tables


def _extend(classes: list[Class], gram: list[list[int]], column: int, budget: Budget) -> Iterator[list[Class]]:
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
