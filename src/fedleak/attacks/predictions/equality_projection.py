"""Equality solving inside the box: the pseudo-inverse's answer projected onto the values that are possible.

The truth satisfies the equations and lies in the box. Both are convex, so the projection is at least as close to the
truth as the pseudo-inverse's answer, in every row. Onto {x in [0, 1]^d : M x = r} it is clip(p + M' lambda) for the
multipliers lambda that make the equations hold: a semismooth Newton method on the concave dual, for all rows at once,
with as many unknowns a row as there are equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.predictions.equality_solving import as_guess, predicted, solve, system
from fedleak.attacks.predictions.prediction_case import read_case
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.inversion.equations import Equations


class EqualityProjection(Attack):
    name = "equality-projection"
    aliases = ("esa-box",)
    summary = "equality solving, projected onto the box of the known feature ranges"
    reference = Reference("fedleak", "from luo2021, section IV-A")
    requires = frozenset({Capability.OWN_FEATURES, Capability.LINEAR_MODEL, Capability.PREDICTIONS})
    preloads = ("scipy.linalg",)
    produces = SecretKind.FEATURES

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        groups = system(case, floor=None, aware=True)
        worst = 0.0

        def answer(group: Equations) -> FloatArray:
            nonlocal worst
            least_norm = group.right @ group.matrix
            if not case.has_box:
                return least_norm
            projected = project_to_box(least_norm, group.matrix, group.right)
            worst = max(worst, float(projected.residual.max(initial=0.0)))
            return projected.points

        solved = solve(case, groups, answer, with_intervals=case.has_box)
        extra = {"box": "known" if case.has_box else "unknown", "largest gap between box and equations": worst}
        return as_guess(view, case, solved, extra, "the possible point nearest to the origin's solution is given")

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return predicted(facts)


TOLERANCE = 1e-13
MAX_NEWTON_STEPS = 100
MAX_HALVINGS = 40
SUFFICIENT_GAIN = 1e-4


@dataclass(frozen=True, eq=False)
class Projected:
    points: FloatArray
    residual: FloatArray  # (points,): by how much the equations miss; above 1e-9 where box and equations contradict


def project_to_box(points: FloatArray, matrix: FloatArray, right: FloatArray) -> Projected:
    """``matrix`` (k, d) has orthonormal rows, ``right`` is (points, k)."""
    if not len(matrix):
        return Projected(np.clip(points, 0.0, 1.0), np.zeros(len(points)))
    solver = _Dual(points, matrix, right)
    multipliers = right - points @ matrix.T  # exact where the box does not bind
    result, residual = np.empty_like(points), np.empty(len(points))
    open_rows = np.arange(len(points))
    for _ in range(MAX_NEWTON_STEPS):
        at = solver.at(multipliers[open_rows], open_rows)
        result[open_rows], residual[open_rows] = at.clipped, np.abs(at.gap).max(axis=1)
        left = residual[open_rows] > TOLERANCE
        if not left.any():
            break
        open_rows = open_rows[left]
        step = solver.newton_step(at.subset(left))
        multipliers[open_rows] = solver.line_search(multipliers[open_rows], step, at.subset(left), open_rows)
    return Projected(result, residual)


@dataclass(frozen=True, eq=False)
class _Point:
    unclipped: FloatArray
    clipped: FloatArray
    gap: FloatArray  # M x - r, minus the gradient of the dual
    value: FloatArray  # of the dual

    def subset(self, chosen: np.ndarray) -> _Point:
        return _Point(self.unclipped[chosen], self.clipped[chosen], self.gap[chosen], self.value[chosen])


class _Dual:
    def __init__(self, points: FloatArray, matrix: FloatArray, right: FloatArray) -> None:
        self._points, self._matrix, self._right = points, matrix, right
        self._pairs = (matrix[:, None, :] * matrix[None, :, :]).reshape(len(matrix) ** 2, -1)

    def at(self, multipliers: FloatArray, rows: IntArray) -> _Point:
        origin = self._points[rows]
        unclipped = origin + multipliers @ self._matrix
        clipped = np.clip(unclipped, 0.0, 1.0)
        gap = clipped @ self._matrix.T - self._right[rows]
        value = 0.5 * ((clipped - origin) ** 2).sum(axis=1) - (multipliers * gap).sum(axis=1)
        return _Point(unclipped, clipped, gap, value)

    def newton_step(self, at: _Point) -> FloatArray:
        inside = ((at.unclipped > 0) & (at.unclipped < 1)).astype(np.float64)
        size = len(self._matrix)
        curvature = (inside @ self._pairs.T).reshape(-1, size, size)
        # Damping keeps the system solvable where the box leaves too few inputs free, and fades with the gap.
        damping = 1e-9 + 1e-3 * np.abs(at.gap).max(axis=1)
        curvature += damping[:, None, None] * np.eye(size)
        return np.asarray(np.linalg.solve(curvature, -at.gap[:, :, None])[:, :, 0], dtype=np.float64)

    def line_search(self, start: FloatArray, step: FloatArray, at: _Point, rows: IntArray) -> FloatArray:
        slope = -(at.gap * step).sum(axis=1)
        length = np.ones(len(rows))
        result = start.copy()
        todo = np.arange(len(rows))
        for _ in range(MAX_HALVINGS):
            tried = start[todo] + length[todo, None] * step[todo]
            value = self.at(tried, rows[todo]).value
            enough = value >= at.value[todo] + SUFFICIENT_GAIN * length[todo] * slope[todo] - 1e-15
            result[todo[enough]] = tried[enough]
            todo = todo[~enough]
            if not len(todo):
                break
            length[todo] *= 0.5
        return result
