"""Linear equations modulo a prime: what they fix there is proved for every solution in whole numbers.

A whole-number solution solves the equations modulo any prime too. So where elimination leaves an equation with one
unknown, that unknown has one residue, and one value if its range is shorter than the prime.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.boosting.histogram_system import InconsistentSumsError
from fedleak.core.arrays import IntArray

PRIME = (1 << 31) - 1  # products of residues stay below 2^62


def fixed_unknowns(matrix: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """Positions of the unknowns that the equations fix, and their residues."""
    reduced = _reduced(np.concatenate([matrix, right[:, None]], axis=1) % PRIME)
    alone = np.count_nonzero(reduced[:, :-1], axis=1) == 1
    positions = np.argmax(reduced[alone, :-1] != 0, axis=1)
    return positions.astype(np.int64), reduced[alone, -1]


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
