"""The points of a grid that satisfy each row's equations: one, several, or none that was found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.inversion.lattice_decoder import LatticeDecoder
from fedleak.models.inversion.lattice_differences import differences
from fedleak.models.inversion.whole_equations import WholeEquations

MOST_EXPECTED = 100.0  # solutions a row: among more, their likelihoods do not tell which is right
MOST_CELLS = 20_000_000  # of all solutions of all rows
UNLIKELY = 0.01  # so few other solutions by chance that a found one is taken where others could not be listed
CHUNK_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class GridSolutions:
    """All solutions of those rows in which one was found."""

    rows: IntArray  # of each solution: the row that it is of, ascending
    points: FloatArray  # (solutions, stepped columns), on the unit interval
    listed: bool  # whether these are all


def solve_on_grid(equations: WholeEquations, centre: FloatArray) -> GridSolutions:
    """``centre``: about where on the unit interval each column's values lie."""
    expected, width = equations.expected_solutions, len(equations.steps)
    none_found = GridSolutions(np.empty(0, dtype=np.int64), np.empty((0, width)), listed=False)
    if expected > MOST_EXPECTED or expected * len(equations.rows) * width > MOST_CELLS:
        return none_found
    decoder = LatticeDecoder(equations)
    others = differences(decoder)
    if others is None and expected > UNLIKELY:
        return none_found
    points, found = decoder.decode(centre * equations.steps)
    stay = np.zeros((1, width), dtype=np.int64)
    moves = stay if others is None else np.vstack([stay, others.points])
    rows, solutions = _all_solutions(equations.part(found), points[found], moves)
    return GridSolutions(rows, solutions / equations.steps, others is not None and others.complete)


def _all_solutions(equations: WholeEquations, points: IntArray, moves: IntArray) -> tuple[IntArray, IntArray]:
    """Every solution of a row is the found one plus a move that leads to another."""
    rows, solutions = [equations.rows[:0]], [points[:0]]
    size = max(1, CHUNK_CELLS // moves.size)
    for start in range(0, len(points), size):
        part = slice(start, start + size)
        candidates = points[part, None, :] + moves
        holds = equations.part(part).hold(candidates)
        holds[:, 0] = True  # found before; a sum in another order must not lose it
        rows.append(np.repeat(equations.rows[part], holds.sum(axis=1)))
        solutions.append(candidates[holds])
    return np.concatenate(rows), np.concatenate(solutions)
