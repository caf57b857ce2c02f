"""The rotation problem: a Gram matrix fixes the victim's rows up to one orthogonal matrix.

With C = F F^T every solution of A A^T = C is A = F R, R orthogonal (lemma 3 of Li et al. 2021). What is known beside C
are the stolen weights, A W = Z, which fix one direction (lemma 5 appends W to the rows of A), and known cells of A.

A rotation near a solution is polished by Gauss-Newton: a search solves one row after the other and lets errors pile up,
here every equation counts at once. A step is R exp(S) with S skew-symmetric, so R stays orthogonal. Where no single row
is known well enough to start a search, all known cells are fitted at once, from several starts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedleak.attacks.inversion.known_cells import PlacedCells
from fedleak.core.arrays import FloatArray, IntArray, freeze
from fedleak.theory.rotation_freedom import rotation_equations

CONTRADICTION = 30.0  # times the tolerance
HEAVIER = 1000.0
ROUNDED = 10.0  # a rounded cell counts as so many times as precise: a misfit of three roundings is none


@dataclass(frozen=True, eq=False)
class Anchor:
    """The stolen weights W and the scores Z = A W that they give the rows."""

    weights: FloatArray
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class RotationProblem:
    """Find R with (F R)[row, column] = value for the known cells, and F R W = Z for the anchor.

    ``tolerance`` is the error that a known cell may show without contradicting the rest, in the cells' own unit: it
    comes from the precision of the trajectory. Cells that are known to fewer digits weigh as much less.
    """

    factor: FloatArray  # (rows, n)
    rows: IntArray
    columns: IntArray
    values: FloatArray
    anchor: Anchor | None = None
    tolerance: float = 1e-8
    within: FloatArray | None = None  # of each known cell: how far its value may be rounded; None for all digits

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.columns) == len(self.values):
            raise ValueError("known rows, columns and values must have one length")
        for name in ("factor", "rows", "columns", "values"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @classmethod
    def of(cls, factor: FloatArray, cells: PlacedCells, anchor: Anchor | None, tolerance: float) -> RotationProblem:
        """With rounded cells the rest weighs at most ``HEAVIER`` times as much, so that equations stay in one range."""
        tolerance = max(tolerance, float(cells.within.max(initial=0.0)) / (ROUNDED * HEAVIER))
        return cls(factor, cells.rows, cells.columns, cells.values, anchor, tolerance, cells.within)

    @cached_property
    def weights(self) -> FloatArray:
        """Of the known cells: 1 for all digits."""
        if self.within is None:
            return np.ones(len(self.values))
        return np.asarray(self.tolerance / np.maximum(self.tolerance, self.within / ROUNDED))

    @cached_property
    def coarsest(self) -> float:
        """What any known cell may be off by."""
        return max(self.tolerance, float(self.within.max(initial=0.0)) if self.within is not None else 0.0)

    @property
    def width(self) -> int:
        return int(self.factor.shape[1])

    @property
    def limit(self) -> float:
        """A misfit beyond this is no rounding error."""
        return CONTRADICTION * self.tolerance

    @property
    def explained(self) -> float:
        """A misfit up to this is what errors make: beyond it a table may fit by chance, and the true one be missed."""
        rounded = self.within is not None and bool(np.any(self.within / ROUNDED > self.tolerance))
        return (ROUNDED if rounded else 1.0) * self.tolerance

    @property
    def apart(self) -> float:
        """Tables closer than this are one answer: how far they may be off then shows in the columns' errors."""
        return max(self.limit, self.coarsest)

    @cached_property
    def scale(self) -> float:
        """A typical cell of the victim: rotations keep the norm, so the factor shows it."""
        return float(np.sqrt(np.mean(self.factor**2))) or 1.0

    @cached_property
    def core(self) -> tuple[FloatArray, FloatArray]:
        """The anchor's equations without redundancy: T and t with T R W = t, F = Q T, divided by the weights' norm."""
        if self.anchor is None:
            return np.zeros((0, self.width)), np.zeros(0)
        basis, triangle = np.linalg.qr(self.factor)
        norm = float(np.linalg.norm(self.anchor.weights))
        return triangle / norm, basis.T @ self.anchor.scores / norm

    def residuals(self, rotation: FloatArray) -> FloatArray:
        """Error of every known cell, by its weight, then of the anchor's equations in the same unit."""
        cells = self.weights * (np.einsum("kp,pk->k", self.factor[self.rows], rotation[:, self.columns]) - self.values)
        if self.anchor is None:
            return np.asarray(cells)
        triangle, scores = self.core
        return np.concatenate([cells, triangle @ (rotation @ self.anchor.weights) - scores])

    def misfit(self, rotation: FloatArray) -> float:
        """Root mean square of the residuals; 0 where there is nothing to compare with."""
        found = self.residuals(rotation)
        return float(np.sqrt(np.mean(found**2))) if len(found) else 0.0

    def anchor_source(self) -> FloatArray:
        """u = R W in the factor's coordinates: F u = Z with |u| = |W|.

        Where the rows span less than the whole space, the missing length goes into a direction that moves no row.
        """
        assert self.anchor is not None
        left, singular, right = np.linalg.svd(self.factor)
        wanted = float(np.linalg.norm(self.anchor.weights))
        n_solid = int(np.sum(singular > 1e-9 * singular[0]))
        targets = left[:, :n_solid].T @ self.anchor.scores
        along = np.zeros(self.width)
        along[:n_solid] = _with_norm(singular[:n_solid], targets, wanted)
        missing = wanted**2 - float(along @ along)
        if n_solid < self.width:
            along[n_solid] = np.sqrt(max(missing, 0.0))
        return np.asarray(right.T @ along)


def _with_norm(singular: FloatArray, targets: FloatArray, wanted: float) -> FloatArray:
    """Least squares of diag(singular) y = targets with |y| at most ``wanted``: noise in weak directions lengthens y."""
    from scipy.optimize import brentq

    plain = targets / singular
    if np.linalg.norm(plain) <= wanted:
        return np.asarray(plain)

    def excess(shift: float) -> float:
        return float(np.linalg.norm(singular * targets / (singular**2 + shift))) - wanted

    high = float(singular[0] ** 2)
    while excess(high) > 0:
        high *= 10
    shift = brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-14)
    return np.asarray(singular * targets / (singular**2 + shift))


def factor_of(gram: FloatArray, width: int) -> FloatArray:
    """F (rows, width) with F F^T closest to the Gram matrix among those of rank ``width``; zero columns fill up."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = min(width, len(values))
    factor = np.zeros((len(gram), width))
    factor[:, :kept] = vectors[:, ::-1][:, :kept] * np.sqrt(np.maximum(values[::-1][:kept], 0.0))
    return factor


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
    from scipy.linalg import expm

    for share in (1.0, 0.5, 0.25, 0.1):
        candidate = _orthonormal(rotation @ expm(share * turn))
        found = problem.misfit(candidate)
        if found < misfit:
            return candidate, found
    return None


def equations(problem: RotationProblem, rotation: FloatArray) -> FloatArray:
    """The linearised system: a row an equation, a column a pair (p < q) of the skew matrix S."""
    cells = rotation_equations(problem.factor[problem.rows] @ rotation, problem.columns, problem.width)
    cells = problem.weights[:, None] * cells
    if problem.anchor is None:
        return cells
    first, second = np.triu_indices(problem.width, k=1)
    weights, turned = problem.anchor.weights, problem.core[0] @ rotation
    anchored = turned[:, first] * weights[second] - turned[:, second] * weights[first]
    return np.vstack([cells, anchored])


def _newton_turn(problem: RotationProblem, rotation: FloatArray) -> tuple[FloatArray, int]:
    from scipy.linalg import lstsq

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


N_STARTS = 12
N_SWEEPS = 200


def fit_rotations(problem: RotationProblem, rng: np.random.Generator, *, n_starts: int = N_STARTS) -> list[Polished]:
    """What each start leads to, best first; none where there are fewer equations than unknowns."""
    width = problem.width
    n_equations = len(problem.values) + (width - 1 if problem.anchor is not None else 0)
    if n_equations <= width * (width - 1) // 2:
        return []
    starts = [np.linalg.qr(rng.standard_normal((width, width)))[0] for _ in range(n_starts)]
    fitted = [polish(problem, _alternate(problem, start), max_steps=30) for start in starts]
    return sorted(fitted, key=lambda one: one.misfit)


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
