"""Which unknown columns take whole multiples of a step, and what their equations become in whole numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.equality.precision import tolerances
from fedleak.attacks.predictions import PredictionCase
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownColumn
from fedleak.models.inversion.equations import RANK_TOLERANCE, ScoreEquations

OFF_GRID = 1e-6  # how far a column's range may be from whole steps


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

    @property
    def expected_solutions(self) -> float:
        """How many points of the grid satisfy a row's equations by chance, at most.

        Values uniform on the grid make a left side nearly normal. Along each independent direction of the equations,
        in units of the tolerance, a window of width 2 lets a share 2 / (sqrt(2 pi) spread) of the points through.
        """
        deviation = np.sqrt(((self.steps + 1.0) ** 2 - 1.0) / 12.0)
        spread = np.linalg.svd(self.coefficients * deviation / self.tolerance.max(axis=0)[:, None], compute_uv=False)
        let_through = np.minimum(0.0, np.log(2 / np.sqrt(2 * np.pi)) - np.log(np.maximum(spread, 1e-300)))
        return float(np.exp(min(np.log(self.steps + 1.0).sum() + let_through.sum(), 700.0)))


def known_grid(case: PredictionCase, knowledge: Knowledge) -> Grid:
    """From the declared steps; whole numbers have step 1."""
    declared = {column.column: column for column in knowledge.columns}
    steps, slack = np.zeros(case.n_unknown, dtype=np.int64), np.zeros(case.n_unknown)
    for index, name in enumerate(case.unknown_columns):
        column = declared.get(name)
        step = _step(column)
        n_steps = case.span[index] / step if step else 0.0
        if round(n_steps) >= 1 and abs(n_steps - round(n_steps)) <= OFF_GRID * n_steps:
            steps[index] = round(n_steps)
            slack[index] = column.slack / case.span[index] if column else 0.0
    return Grid(steps, slack)


def _step(column: KnownColumn | None) -> float | None:
    if column is None or column.step is not None:
        return None if column is None else column.step
    return 1.0 if column.kind in (ColumnKind.INTEGER, ColumnKind.BINARY) else None


def whole_equations(case: PredictionCase, grid: Grid, equations: ScoreEquations) -> Iterator[WholeEquations]:
    """What is left of the equations without the continuous unknowns, rows of like precision together."""
    if not len(equations.matrix):
        return
    keep = left_of(equations.matrix[:, ~grid.stepped])
    if not len(keep):
        return
    steps = grid.steps[grid.stepped]
    tolerance = tolerances(case, equations) @ np.abs(keep).T + np.abs(keep @ equations.matrix) @ grid.slack
    found = WholeEquations(
        equations.rows,
        keep @ equations.matrix[:, grid.stepped] / steps,
        equations.right @ keep.T,
        tolerance,
        steps,
    )
    worst = tolerance.max(axis=1)
    octave = np.where(np.isfinite(worst), np.floor(np.log2(np.where(np.isfinite(worst), worst, 1.0))), np.inf)
    for precision in np.unique(octave[np.isfinite(octave)]):
        yield found.part(octave == precision)


def left_of(matrix: FloatArray) -> FloatArray:
    """Combinations of the equations (orthonormal) in which these unknowns do not occur."""
    left, singular, _ = np.linalg.svd(matrix)
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0])) if len(singular) and singular[0] > 0 else 0
    return np.asarray(left[:, rank:].T)
