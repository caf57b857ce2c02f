"""The rotation problem: a Gram matrix fixes the victim's rows up to one orthogonal matrix.

With C = F F^T every solution of A A^T = C is A = F R, R orthogonal (lemma 3 of Li et al. 2021). What is known beside C
are the stolen weights, A W = Z, which fix one direction (lemma 5 appends W to the rows of A), and known cells of A.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from fedleak.core.arrays import FloatArray, IntArray, freeze


@dataclass(frozen=True, eq=False)
class Anchor:
    """The stolen weights W and the scores Z = A W that they give the rows."""

    weights: FloatArray
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class RotationProblem:
    """Find R with (F R)[row, column] = value for the known cells, and F R W = Z for the anchor.

    ``tolerance`` is the error that a known cell may show without contradicting the rest, in the cells' own unit: it
    comes from the precision of the trajectory.
    """

    factor: FloatArray  # (rows, n)
    rows: IntArray
    columns: IntArray
    values: FloatArray
    anchor: Anchor | None = None
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.columns) == len(self.values):
            raise ValueError("known rows, columns and values must have one length")
        for name in ("factor", "rows", "columns", "values"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @property
    def width(self) -> int:
        return int(self.factor.shape[1])

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
        """Error of every known cell, then of the anchor's equations in the same unit."""
        cells = np.einsum("kp,pk->k", self.factor[self.rows], rotation[:, self.columns]) - self.values
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
