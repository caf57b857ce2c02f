"""When no single row is known well enough to start the search: fit all known cells at once, from several starts."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.inversion.polish import polish
from fedleak.attacks.inversion.problem import RotationProblem
from fedleak.core.arrays import FloatArray

N_STARTS = 12
N_SWEEPS = 200


def fit_rotation(problem: RotationProblem, rng: np.random.Generator, *, n_starts: int = N_STARTS) -> FloatArray | None:
    """The best fit over the starts, or None where there are fewer equations than unknowns."""
    width = problem.width
    n_equations = len(problem.values) + (width - 1 if problem.anchor is not None else 0)
    if n_equations <= width * (width - 1) // 2:
        return None
    best: tuple[float, FloatArray] | None = None
    for _ in range(n_starts):
        start, _ = np.linalg.qr(rng.standard_normal((width, width)))
        rotation = polish(problem, _alternate(problem, start), max_steps=30)
        if best is None or rotation.misfit < best[0]:
            best = rotation.misfit, rotation.rotation
        if best[0] <= 3 * problem.tolerance:
            break
    return None if best is None else best[1]


def _alternate(problem: RotationProblem, rotation: FloatArray) -> FloatArray:
    """Put the known cells into the current guess, turn the factor onto it, again and again (Procrustes)."""
    outer = _anchor_pull(problem)
    for _ in range(N_SWEEPS):
        guess = problem.factor @ rotation
        guess[problem.rows, problem.columns] = problem.values
        left, _, right = np.linalg.svd(problem.factor.T @ guess + outer)
        rotation = left @ right
    return rotation


def _anchor_pull(problem: RotationProblem) -> FloatArray:
    """What the anchor adds to the Procrustes problem: as heavy as all rows together."""
    if problem.anchor is None:
        return np.zeros((problem.width, problem.width))
    weights = problem.anchor.weights
    heavy = float(np.sum(problem.factor**2)) / float(weights @ weights)
    return np.asarray(heavy * np.outer(problem.anchor_source(), weights))
