"""Equations in whole numbers, where unknown columns take whole multiples of a step (Luo et al. 2021 count reals)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.models.inversion.equations import ScoreEquations, numerical_rank


@dataclass(frozen=True, eq=False)
class Grid:
    """``steps``: of each unknown column, how many steps its range has; 0 where it is continuous.

    ``slack``: by how much a value may be off the grid, as a share of the range.
    """

    steps: IntArray
    slack: FloatArray

    @property
    def stepped(self) -> BoolArray:
        return np.asarray(self.steps > 0)

    @property
    def log2_points(self) -> float:
        return float(np.log2(self.steps[self.stepped] + 1.0).sum())


@dataclass(frozen=True, eq=False)
class WholeEquations:
    """``coefficients @ n = right`` within ``tolerance``, for whole numbers 0 <= n <= steps."""

    rows: IntArray
    coefficients: FloatArray  # (equations, stepped columns)
    right: FloatArray  # (rows, equations)
    tolerance: FloatArray  # (rows, equations)
    steps: IntArray

    def hold(self, points: IntArray) -> BoolArray:
        """(rows, points): each row has points of its own."""
        gap = np.abs(points @ self.coefficients.T - self.right[:, None, :])
        inside = ((points >= 0) & (points <= self.steps)).all(axis=2)
        return np.asarray(inside & (gap <= self.tolerance[:, None, :]).all(axis=2))

    def part(self, chosen: BoolArray | IntArray | slice) -> WholeEquations:
        return WholeEquations(
            self.rows[chosen], self.coefficients, self.right[chosen], self.tolerance[chosen], self.steps
        )

    @cached_property
    def expected_solutions(self) -> float:
        """How many points of the grid satisfy a row's equations by chance, at most.

        Values uniform on the grid make a left side nearly normal. Along each independent direction of the equations,
        in units of the tolerance, a window of width 2 lets a share 2 / (sqrt(2 pi) spread) of the points through.
        """
        deviation = np.sqrt(((self.steps + 1.0) ** 2 - 1.0) / 12.0)
        spread = np.linalg.svd(self.coefficients * deviation / self.tolerance.max(axis=0)[:, None], compute_uv=False)
        let_through = np.minimum(0.0, np.log(2 / np.sqrt(2 * np.pi)) - np.log(np.maximum(spread, 1e-300)))
        return float(np.exp(min(np.log(self.steps + 1.0).sum() + let_through.sum(), 700.0)))


def whole_equations(equations: ScoreEquations, tolerance: FloatArray, grid: Grid) -> Iterator[WholeEquations]:
    """What is left of the equations without the continuous unknowns, rows of like precision together.

    ``tolerance`` (rows, equations) bounds the error of the right side; a row with an infinite one is left out.
    """
    if not len(equations.matrix) or not grid.stepped.any():
        return
    keep = left_of(equations.matrix[:, ~grid.stepped])
    usable = np.isfinite(tolerance).all(axis=1)
    if not len(keep) or not usable.any():
        return
    steps = grid.steps[grid.stepped]
    allowed = tolerance[usable] @ np.abs(keep).T + np.abs(keep @ equations.matrix) @ grid.slack
    found = WholeEquations(
        equations.rows[usable],
        keep @ equations.matrix[:, grid.stepped] / steps,
        equations.right[usable] @ keep.T,
        allowed,
        steps,
    )
    octave = np.floor(np.log2(allowed.max(axis=1)))
    for precision in np.unique(octave):
        yield found.part(octave == precision)


def left_of(matrix: FloatArray) -> FloatArray:
    """Combinations of the equations (orthonormal) in which these unknowns do not occur."""
    left, singular, _ = np.linalg.svd(matrix)
    return np.asarray(left[:, numerical_rank(singular) :].T)
