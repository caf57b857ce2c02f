"""The points of a grid that satisfy each row's equations: one, several, or none that was found.

A point n stands for the vector (2 n / steps, coefficients n / tolerance). The equations and the range hold for points
whose vector is close to (2 centre / steps, right / tolerance). A reduced basis (LLL) makes rounding coordinate by
coordinate find the closest one; where it is not sure, several roundings are followed. A second solution of a row
differs from the first by a short vector of the lattice, whatever the row: the short vectors are listed once (Fincke and
Pohst's enumeration, level by level on whole arrays) and tried on every row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.exact_integers import reduce_rows
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
    solved = _all_solutions(equations.part(found), points[found], moves)
    if solved is None:  # the closest of each row, then
        return GridSolutions(equations.rows[found], points[found] / equations.steps, listed=False)
    return GridSolutions(solved[0], solved[1] / equations.steps, others is not None and others.complete)


def _all_solutions(equations: WholeEquations, points: IntArray, moves: IntArray) -> tuple[IntArray, IntArray] | None:
    """Every solution of a row is the found one plus a move that leads to another; none where they are too many.

    A column without weight makes all of its values solutions, however few are expected by chance.
    """
    rows, solutions, n_cells = [equations.rows[:0]], [points[:0]], 0
    size = max(1, CHUNK_CELLS // moves.size)
    for start in range(0, len(points), size):
        part = slice(start, start + size)
        candidates = points[part, None, :] + moves
        holds = equations.part(part).hold(candidates)
        holds[:, 0] = True  # found before; a sum in another order must not lose it
        rows.append(np.repeat(equations.rows[part], holds.sum(axis=1)))
        solutions.append(candidates[holds])
        n_cells += solutions[-1].size
        if n_cells > MOST_CELLS:
            return None
    return np.concatenate(rows), np.concatenate(solutions)


SCALE = 2**40  # vectors are reduced as integers: this many units of 1
N_PATHS = 64
DECODER_CHUNK_CELLS = 2_000_000


class LatticeDecoder:
    def __init__(self, equations: WholeEquations) -> None:
        self.equations = equations
        self._weights = equations.coefficients / equations.tolerance.max(axis=0)[:, None]
        self._shrink = 2.0 / equations.steps
        n_columns = len(equations.steps)
        ranges = [max(1, round(SCALE * float(shrink))) for shrink in self._shrink]
        basis = [
            [ranges[j] if i == j else 0 for i in range(n_columns)]
            + [round(SCALE * float(weight)) for weight in self._weights[:, j]]
            for j in range(n_columns)
        ]
        reduced = reduce_rows(basis)
        self.points = np.array(
            [[row[j] // ranges[j] for j in range(n_columns)] for row in reduced], dtype=np.int64
        )  # of the reduced vectors
        vectors = np.array(reduced, dtype=np.float64) / SCALE
        self._axes, triangle = np.linalg.qr(vectors.T)
        self.triangle: FloatArray = triangle

    def decode(self, centre: FloatArray) -> tuple[IntArray, BoolArray]:
        """For each row a point, and whether it satisfies the row's equations; ``centre`` is where to expect points."""
        n_rows, width = len(self.equations.rows), len(self.equations.steps)
        points = np.empty((n_rows, width), dtype=np.int64)
        found = np.zeros(n_rows, dtype=np.bool_)
        for n_paths in (1, N_PATHS):
            todo = np.flatnonzero(~found)
            size = max(1, DECODER_CHUNK_CELLS // (3 * n_paths * width))
            for start in range(0, len(todo), size):
                chosen = todo[start : start + size]
                points[chosen], found[chosen] = self._decode(chosen, centre, n_paths)
        return points, found

    def _decode(self, chosen: IntArray, centre: FloatArray, n_paths: int) -> tuple[IntArray, BoolArray]:
        part = self.equations.part(chosen)
        near = np.zeros((len(chosen), len(part.steps)), dtype=np.int64)
        # Once more from a near point: the target is then small, and its digits are not spent on size.
        for paths in (1, n_paths):
            within = (centre - near) * self._shrink
            residual = (part.right - near @ part.coefficients.T) / self.equations.tolerance.max(axis=0)
            steps = self._roundings(np.hstack([within, residual]) @ self._axes, paths)
            candidates = near[:, None, :] + steps @ self.points
            near = candidates[:, 0]
        holds = part.hold(candidates)
        first = holds.argmax(axis=1)  # they come by distance
        return candidates[np.arange(len(first)), first], np.asarray(holds.any(axis=1))

    def _roundings(self, target: FloatArray, n_paths: int) -> IntArray:
        """(rows, paths, width): coordinates in the reduced basis, closest first."""
        width = len(self.triangle)
        left, cost = target[:, None, :], np.zeros((len(target), 1))
        chosen = np.zeros((len(target), 1, width), dtype=np.int64)
        for level in range(width - 1, -1, -1):
            pivot = self.triangle[level, level]
            place = left[:, :, level] / pivot
            nearest = np.round(place)
            aside = np.where(place >= nearest, 1.0, -1.0)
            tried = nearest[:, :, None] + aside[:, :, None] * np.array([0.0, 1.0, -1.0])[: 1 if n_paths == 1 else 3]
            total = cost[:, :, None] + ((place[:, :, None] - tried) * pivot) ** 2
            flat = total.reshape(len(total), -1)
            best = np.argsort(flat, axis=1, kind="stable")[:, :n_paths]
            parent = best // tried.shape[2]
            taken = np.take_along_axis(tried.reshape(len(tried), -1), best, axis=1)
            cost = np.take_along_axis(flat, best, axis=1)
            left = np.take_along_axis(left, parent[:, :, None], axis=1)
            left = left - taken[:, :, None] * self.triangle[:, level]
            chosen = np.take_along_axis(chosen, parent[:, :, None], axis=1)
            chosen[:, :, level] = taken.astype(np.int64)
        return chosen


MOST_BRANCHES = 500_000
MOST_DIFFERENCES = 20_000
# The squared distance of two points drawn from the grid is 2/3 a column on average, in half ranges; 4 at most.
LARGEST_DISTANCE, USUAL_DISTANCE = 4.0, 1.5
WIDEST_GAP = 2.5  # two solutions are two tolerances apart at most; the sums that say so are good to part of one
FLOAT_ROOM = 1e-9  # for the lengths, which are computed from a reduced basis


@dataclass(frozen=True, eq=False)
class Differences:
    points: IntArray  # (differences, columns), zero left out
    complete: bool  # all that are possible, or those of the usual length


def differences(decoder: LatticeDecoder) -> Differences | None:
    """All that can be listed; none where there are too many even of the usual length."""
    n_equations, n_columns = decoder.equations.coefficients.shape
    # The basis is rounded to integers: a point of so many steps is as far from its exact vector at most.
    rounded = (1 + n_equations**0.5) * float(decoder.equations.steps.sum()) / SCALE
    for squared in (LARGEST_DISTANCE, USUAL_DISTANCE):
        radius = (squared * n_columns + WIDEST_GAP**2 * n_equations) ** 0.5
        found = _possible_differences(decoder, (radius + rounded) * (1 + FLOAT_ROOM))
        if found is not None:
            return Differences(found, squared == LARGEST_DISTANCE)
    return None


def _possible_differences(decoder: LatticeDecoder, radius: float) -> IntArray | None:
    coordinates = _short_vectors(decoder.triangle, radius)
    if coordinates is None:
        return None
    found = coordinates @ decoder.points
    equations = decoder.equations
    gap = np.abs(found @ equations.coefficients.T)
    possible = (gap <= WIDEST_GAP * equations.tolerance.max(axis=0)).all(axis=1) & found.any(axis=1)
    found = found[possible & (np.abs(found) <= equations.steps).all(axis=1)]
    return None if len(found) > MOST_DIFFERENCES else found


def _short_vectors(triangle: FloatArray, radius: float) -> IntArray | None:
    """Coordinates of all lattice vectors of at most this length."""
    width = len(triangle)
    coordinates = np.zeros((1, width), dtype=np.int64)
    vectors, cost = np.zeros((1, width)), np.zeros(1)
    for level in range(width - 1, -1, -1):
        pivot = triangle[level, level]
        middle = -vectors[:, level] / pivot
        reach = np.sqrt(np.maximum(radius**2 - cost, 0.0)) / abs(pivot)
        low, high = np.ceil(middle - reach), np.floor(middle + reach)
        counts = np.maximum(high - low + 1, 0)
        if counts.sum() > MOST_BRANCHES:
            return None
        parent = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
        first = np.cumsum(counts) - counts
        taken = low[parent] + np.arange(len(parent)) - first[parent]
        coordinates = coordinates[parent]
        coordinates[:, level] = taken.astype(np.int64)
        vectors = vectors[parent] + taken[:, None] * triangle[:, level]
        cost = cost[parent] + vectors[:, level] ** 2
    return coordinates
