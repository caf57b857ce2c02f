"""A Gram matrix in factored form, with how far it can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.gram.all_rows import gram_of_all_rows
from fedleak.attacks.gram.repeated_batch import rank_aware_gram
from fedleak.attacks.gram.solution import GramSolution, NotIdentified
from fedleak.attacks.gram.trajectory import Trajectory
from fedleak.core.arrays import FloatArray

N_DISTURBED = 3
TRUSTED = 0.05  # a Gram matrix that one more draw of the noise moves by more than this share is not recovered


@dataclass(frozen=True, eq=False)
class GramEstimate:
    """``factor`` F with G = F F^T; ``end_scores`` are X W after the last update."""

    factor: FloatArray  # (rows, n)
    end_scores: FloatArray
    method: str
    condition: float | None  # of the linear solve; None where there was none
    rank: int
    gram_error: float  # expected relative error of G, by disturbing the trajectory
    cell_error: float  # expected error of a cell of F R with the best R
    certain: bool = True  # False where other rows may explain the scores as well

    @property
    def gram(self) -> FloatArray:
        return np.asarray(self.factor @ self.factor.T)


def estimate_gram(trajectory: Trajectory, width: int, rng: np.random.Generator) -> GramEstimate | NotIdentified:
    """By the recurring batch where there is one, else by all rows together."""
    solve = rank_aware_gram if trajectory.repeats else gram_of_all_rows
    solution = solve(trajectory, width)
    if isinstance(solution, NotIdentified):
        return solution
    gram_error, cell_error = _errors(trajectory, width, solution, rng)
    if not gram_error < TRUSTED:
        return NotIdentified(
            f"the trajectory does not fix the Gram matrix: its own noise moves it by {gram_error:.1g} of its size "
            f"(condition {solution.condition:.1g}); the updates are collinear",
            solution.rank,
        )
    return GramEstimate(
        solution.factor,
        solution.end_scores,
        solution.method,
        solution.condition,
        solution.rank,
        gram_error,
        cell_error,
    )


def _errors(
    trajectory: Trajectory, width: int, solution: GramSolution, rng: np.random.Generator
) -> tuple[float, float]:
    """How far the answer moves when the noise is drawn once more."""
    solve = rank_aware_gram if trajectory.repeats else gram_of_all_rows
    others = []
    for _ in range(N_DISTURBED):
        other = solve(trajectory.disturbed(rng), width)
        if isinstance(other, NotIdentified) or other.factor.shape != solution.factor.shape:
            return float("inf"), float("inf")
        others.append(other.factor)
    return distances(solution.factor, others)


def distances(factor: FloatArray, others: Sequence[FloatArray]) -> tuple[float, float]:
    """The largest distance to other answers: relative for the Gram matrix, and of a cell after the best rotation."""
    gram = factor @ factor.T
    size = float(np.linalg.norm(gram)) or 1.0
    gram_error, cell_error = 0.0, 0.0
    for other in others:
        gram_error = max(gram_error, float(np.linalg.norm(other @ other.T - gram)) / size)
        left, _, right = np.linalg.svd(other.T @ factor)
        moved = other @ (left @ right) - factor
        cell_error = max(cell_error, float(np.sqrt(np.mean(moved**2))))
    floor = float(np.finfo(np.float64).eps)
    return max(gram_error, floor), max(cell_error, floor * float(np.sqrt(np.mean(factor**2))))
