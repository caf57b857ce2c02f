"""Whole numbers that satisfy real equations: the closest point of a lattice, for many right sides at once.

A point n stands for the vector (2 n / steps, coefficients n / tolerance). The equations and the range hold for points
whose vector is close to (2 centre / steps, right / tolerance). A reduced basis (LLL) makes rounding coordinate by
coordinate find the closest one; where it is not sure, several roundings are followed.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.exact_integers import reduce_rows
from fedleak.models.inversion.whole_equations import WholeEquations

SCALE = 2**40  # vectors are reduced as integers: this many units of 1
N_PATHS = 64
CHUNK_CELLS = 2_000_000


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
            size = max(1, CHUNK_CELLS // (3 * n_paths * width))
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
