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
from fedleak.theory.li2021.known_data import rotation_equations

MAX_STEPS = 20
SETTLED = 0.9  # a step that leaves more than this share of the misfit is the last
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
        better = _along(problem, rotation, turn, misfit)
        if better is None:
            break
        settled = better[1] > SETTLED * misfit
        rotation, misfit = better
        if settled:
            break
    return Polished(rotation, misfit, rank)


def _along(
    problem: RotationProblem, rotation: FloatArray, turn: FloatArray, misfit: float
) -> tuple[FloatArray, float] | None:
    """The whole step, or a shorter one where that overshoots; None where no step lowers the misfit."""
    for share in (1.0, 0.5, 0.25, 0.1):
        candidate = _orthonormal(rotation @ expm(share * turn))
        found = problem.misfit(candidate)
        if found < misfit:
            return candidate, found
    return None


def equations(problem: RotationProblem, rotation: FloatArray) -> FloatArray:
    """The linearised system: a row an equation, a column a pair (p < q) of the skew matrix S."""
    cells = rotation_equations(problem.factor[problem.rows] @ rotation, problem.columns, problem.width)
    if problem.anchor is None:
        return cells
    first, second = np.triu_indices(problem.width, k=1)
    weights, turned = problem.anchor.weights, problem.core[0] @ rotation
    anchored = turned[:, first] * weights[second] - turned[:, second] * weights[first]
    return np.vstack([cells, anchored])


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
