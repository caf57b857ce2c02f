"""Invert: search, polish, and say how many answers remain."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.linalg import qr

from fedleak.attacks.inversion.fit import fit_rotation
from fedleak.attacks.inversion.polish import equations, polish
from fedleak.attacks.inversion.problem import RotationProblem
from fedleak.attacks.inversion.search import DEFAULT_NODES, search
from fedleak.core.arrays import FloatArray

CONTRADICTION = 30.0  # a misfit this many times the tolerance is no rounding error
MAX_POLISHED = 64
FREE = 1e-11  # a pivot this small, relative to the largest, belongs to a direction that no equation holds


class Answer(StrEnum):
    UNIQUE = "unique"
    SEVERAL = "several"  # a finite number of exact solutions
    CONTRADICTION = "contradiction"  # the known cells do not fit the trajectory
    TOO_FEW = "too few"  # a whole family of solutions
    BUDGET = "budget"  # the search was cut short


@dataclass(frozen=True, eq=False)
class Inversion:
    """``n_without_extra`` counts the real solutions before known cells beyond the construction chose among them."""

    answer: Answer
    candidates: tuple[FloatArray, ...]  # F R for every rotation that remains
    n_without_extra: int
    n_nodes: int
    misfit: float  # of the best candidate, in the cells' unit
    condition: float  # of the known-cell equations at the answer
    free_directions: int  # dimension of the family that remains; 0 where the number of answers is finite
    why: str


def invert(problem: RotationProblem, *, rng: np.random.Generator, max_nodes: int = DEFAULT_NODES) -> Inversion:
    """Every rotation that fits, or the reason why there is none to be named."""
    found = search(problem, max_nodes=max_nodes)
    rotations = found.rotations
    if not rotations and found.open_directions > 0:
        fitted = fit_rotation(problem, rng)
        rotations = () if fitted is None else (fitted,)
        if not rotations:
            return _too_few(problem, found.n_nodes, found.open_directions)
    if not rotations:
        why = "no real solution: a known cell is wrong or noisier than the trajectory allows"
        return Inversion(Answer.CONTRADICTION, (), 0, found.n_nodes, float("inf"), float("inf"), 0, why)
    polished = sorted((polish(problem, rotation) for rotation in rotations[:MAX_POLISHED]), key=lambda p: p.misfit)
    best = polished[0]
    condition, n_free = _conditioning(problem, best.rotation)
    if n_free > 0:
        return _too_few(problem, found.n_nodes, n_free)
    limit = CONTRADICTION * problem.tolerance
    if best.misfit > limit:
        why = (
            f"the known cells contradict the trajectory: they miss by {best.misfit:.2g}, "
            f"rounding explains {problem.tolerance:.2g}"
        )
        return Inversion(Answer.CONTRADICTION, (), len(rotations), found.n_nodes, best.misfit, condition, 0, why)
    kept = [p for p in polished if p.misfit <= max(limit, 3 * best.misfit)]
    answer = Answer.UNIQUE if len(kept) == 1 else Answer.SEVERAL
    if not found.complete and answer is Answer.UNIQUE:
        answer = Answer.BUDGET
    candidates = tuple(problem.factor @ p.rotation for p in kept)
    why = _explanation(answer, len(kept), len(rotations), found.n_nodes)
    return Inversion(answer, candidates, len(rotations), found.n_nodes, best.misfit, condition, 0, why)


def _conditioning(problem: RotationProblem, rotation: FloatArray) -> tuple[float, int]:
    """Condition (ratio of pivots) of the known-cell equations, and how many directions of rotation they leave free.

    Directions that move no row (rows that span less than the whole space) do not count as free.
    """
    width = problem.width
    n_unknown = width * (width - 1) // 2
    if n_unknown == 0:
        return 1.0, 0
    values = problem.factor @ rotation
    idle = width - int(np.linalg.matrix_rank(values, tol=1e-9 * float(np.abs(values).max())))
    if problem.anchor is not None and idle > 0:
        idle -= 1
    system = equations(problem, rotation)
    pivots = np.abs(np.diag(qr(system, mode="r", pivoting=True)[0])) if system.size else np.zeros(0)
    rank = int(np.sum(pivots > FREE * pivots[0])) if len(pivots) else 0
    unreachable = idle * (idle - 1) // 2
    n_free = max(0, n_unknown - unreachable - rank)
    condition = float(pivots[0] / pivots[rank - 1]) if rank else float("inf")
    return condition, n_free


def _too_few(problem: RotationProblem, n_nodes: int, n_open: int) -> Inversion:
    missing = "the stolen weights and " if problem.anchor is not None else ""
    why = f"{missing}{len(problem.values)} known cells leave a family of rotations of {n_open} open directions"
    return Inversion(Answer.TOO_FEW, (), 0, n_nodes, float("inf"), float("inf"), n_open, why)


def _explanation(answer: Answer, n_kept: int, n_found: int, n_nodes: int) -> str:
    if answer is Answer.UNIQUE:
        chosen = "" if n_found == 1 else f", chosen among {n_found} by the cells known beyond the construction"
        return f"one real solution fits{chosen}"
    if answer is Answer.SEVERAL:
        return f"{n_kept} real solutions fit equally well, and nothing in the view decides between them"
    return f"the search ended after {n_nodes} nodes with one solution; there may be others"
