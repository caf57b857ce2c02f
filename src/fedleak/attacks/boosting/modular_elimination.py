"""Linear equations modulo a prime: what they fix there is proved for every solution in whole numbers.

A whole-number solution solves the equations modulo any prime too. So where elimination leaves an equation with one
unknown, that unknown has one residue, and one value if its range is shorter than the prime.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.attacks.boosting.histogram_system import InconsistentSumsError
from fedleak.core.arrays import BoolArray, IntArray

PRIME = (1 << 31) - 1  # products of residues stay below 2^62


def fixed_unknowns(matrix: IntArray, right: IntArray, limits: IntArray, budget: int) -> tuple[IntArray, IntArray]:
    """Positions of the unknowns, each from 0 to its limit, that the equations fix, and their values.

    What elimination leaves open falls into parts that share no equation. In a part with few combinations of its free
    unknowns all of them are tried: most leave a dependent unknown outside its limits.
    """
    reduced = _reduced(np.concatenate([matrix, right[:, None]], axis=1) % PRIME)
    used = reduced[:, :-1] != 0
    alone = used.sum(axis=1) == 1
    positions, values = np.argmax(used[alone], axis=1), reduced[alone, -1]
    parts = [_tried(reduced[rows], limits, budget) for rows in _parts(used, np.flatnonzero(~alone))]
    found = [(positions, values), *(part for part in parts if part is not None)]
    return (
        np.concatenate([part[0] for part in found]).astype(np.int64),
        np.concatenate([part[1] for part in found]).astype(np.int64),
    )


def _parts(used: BoolArray, rows: IntArray) -> Iterator[IntArray]:
    """Equations that hang together by their unknowns."""
    if not len(rows):
        return
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    pattern = csr_array(used[rows].astype(np.int64))
    _, part_of = connected_components(pattern @ pattern.T, directed=False)
    for part in np.unique(part_of):
        yield rows[part_of == part]


def _tried(equations: IntArray, limits: IntArray, budget: int) -> tuple[IntArray, IntArray] | None:
    """All combinations of the free unknowns of some equations in echelon form; None where there are too many."""
    pivots = np.argmax(equations[:, :-1] != 0, axis=1)
    free = np.setdiff1d(np.flatnonzero((equations[:, :-1] != 0).any(axis=0)), pivots)
    if np.log2(limits[free] + 1.0).sum() > np.log2(budget):
        return None
    ways = np.stack(np.meshgrid(*(np.arange(limit + 1) for limit in limits[free]), indexing="ij"), axis=-1)
    ways = ways.reshape(-1, len(free))
    for equation, pivot in zip(equations, pivots, strict=True):
        ways = ways[_dependent(equation, free, ways) <= limits[pivot]]
    if not len(ways):
        raise InconsistentSumsError
    dependent = [_dependent(equation, free, ways) for equation in equations]
    values = np.concatenate([ways, np.stack(dependent, axis=1)], axis=1)
    fixed = (values == values[0]).all(axis=0)
    return np.concatenate([free, pivots])[fixed], values[0, fixed]


def _dependent(equation: IntArray, free: IntArray, ways: IntArray) -> IntArray:
    """The unknown that the equation gives, by the others."""
    taken = np.zeros(len(ways), dtype=np.int64)
    for position, count in zip(free, ways.T, strict=True):  # one at a time: products stay below 2^62
        if equation[position]:
            taken = (taken + equation[position] * count) % PRIME
    return np.asarray((equation[-1] - taken) % PRIME)


def _reduced(work: IntArray) -> IntArray:
    """The reduced row echelon form without empty rows; the last column is the right side."""
    rank = 0
    for column in range(work.shape[1] - 1):
        candidates = np.flatnonzero(work[rank:, column])
        if not len(candidates):
            continue
        chosen = rank + int(candidates[0])
        if chosen != rank:
            work[[rank, chosen]] = work[[chosen, rank]]
        work[rank] = work[rank] * pow(int(work[rank, column]), -1, PRIME) % PRIME
        others = np.flatnonzero(work[:, column])
        others = others[others != rank]
        work[others] = (work[others] - work[others, column][:, None] * work[rank]) % PRIME
        rank += 1
        if rank == len(work):
            break
    if work[rank:, -1].any():
        raise InconsistentSumsError
    return work[:rank]
