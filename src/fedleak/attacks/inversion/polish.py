"""Gauss-Newton over rotations: the last digits, from all known cells and the anchor together.

The search solves one row after the other and lets errors pile up; here every equation counts at once. A step
is R exp(S) with S skew-symmetric, so R stays orthogonal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm, lstsq

from fedleak.attacks.inversion.problem import RotationProblem
from fedleak.core.arrays import FloatArray

MAX_STEPS = 12
MAX_TURN = 0.5  # a longer step leaves the region where the linearisation means anything


@dataclass(frozen=True, eq=False)
class Polished:
    rotation: FloatArray
    misfit: float
    rank: int  # of the equations at the solution: below n (n - 1) / 2 a whole family fits


def polish(problem: RotationProblem, rotation: FloatArray, *, max_steps: int = MAX_STEPS) -> Polished:
    """Better or as good: a step that does not lower the misfit is not taken."""
    misfit, rank = problem.misfit(rotation), 0
    for _ in range(max_steps):
        turn, rank = _newton_turn(problem, rotation)
        candidate = _orthonormal(rotation @ expm(turn))
        new_misfit = problem.misfit(candidate)
        if not new_misfit < misfit:
            break
        settled = new_misfit > 0.5 * misfit
        rotation, misfit = candidate, new_misfit
        if settled:
            break
    return Polished(rotation, misfit, rank)


def equations(problem: RotationProblem, rotation: FloatArray) -> FloatArray:
    """The linearised system: a row an equation, a column a pair (p < q) of the skew matrix S.

    d(F R exp S)[i, j] = sum_p (F R)[i, p] S[p, j], and S[q, p] = -S[p, q]; the anchor's equations likewise, times W.
    """
    vectors = problem.factor[problem.rows] @ rotation
    columns = problem.columns
    first, second = np.triu_indices(problem.width, k=1)
    lower = (columns[:, None] == second[None, :]) * vectors[:, first]
    upper = (columns[:, None] == first[None, :]) * vectors[:, second]
    if problem.anchor is None:
        return np.asarray(lower - upper)
    weights, turned = problem.anchor.weights, problem.core[0] @ rotation
    anchored = turned[:, first] * weights[second] - turned[:, second] * weights[first]
    return np.vstack([lower - upper, anchored])


def _newton_turn(problem: RotationProblem, rotation: FloatArray) -> tuple[FloatArray, int]:
    width = problem.width
    system = equations(problem, rotation)
    if not system.size:
        return np.zeros((width, width)), 0
    step, _, rank, _ = lstsq(system, -problem.residuals(rotation), cond=1e-12, lapack_driver="gelsy")
    turn = np.zeros((width, width))
    turn[np.triu_indices(width, k=1)] = step
    turn = turn - turn.T
    length = float(np.abs(turn).max(initial=0.0))
    return (turn * (MAX_TURN / length) if length > MAX_TURN else turn), int(rank)


def _orthonormal(matrix: FloatArray) -> FloatArray:
    left, _, right = np.linalg.svd(matrix)
    return np.asarray(left @ right)
