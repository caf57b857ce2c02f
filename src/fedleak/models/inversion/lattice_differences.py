"""All differences of two points that can satisfy the same equations: they say whether a solution is the only one.

A second solution of a row differs from the first by a short vector of the lattice, whatever the row. The short vectors
are listed once (Fincke and Pohst's enumeration, level by level on whole arrays) and tried on every row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.inversion.lattice_decoder import LatticeDecoder

MOST_BRANCHES = 500_000
MOST_DIFFERENCES = 20_000
# The squared distance of two points drawn from the grid is 2/3 a column on average, in half ranges; 4 at most.
LARGEST, USUAL = 4.0, 1.5


@dataclass(frozen=True, eq=False)
class Differences:
    points: IntArray  # (differences, columns), zero left out
    complete: bool  # all that are possible, or those of the usual length


def differences(decoder: LatticeDecoder) -> Differences | None:
    """All that can be listed; none where there are too many even of the usual length."""
    n_equations, n_columns = decoder.equations.coefficients.shape
    for squared in (LARGEST, USUAL):
        found = _possible(decoder, (squared * n_columns + LARGEST * n_equations) ** 0.5)
        if found is not None:
            return Differences(found, squared == LARGEST)
    return None


def _possible(decoder: LatticeDecoder, radius: float) -> IntArray | None:
    coordinates = _short(decoder.triangle, radius)
    if coordinates is None:
        return None
    found = coordinates @ decoder.points
    equations = decoder.equations
    gap = np.abs(found @ equations.coefficients.T)
    possible = (gap <= 2 * equations.tolerance.max(axis=0)).all(axis=1) & found.any(axis=1)
    found = found[possible & (np.abs(found) <= equations.steps).all(axis=1)]
    return None if len(found) > MOST_DIFFERENCES else found


def _short(triangle: FloatArray, radius: float) -> IntArray | None:
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
