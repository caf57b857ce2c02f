"""The linear side of a batch's integer program: u = h - y / 2 with basis.T @ u = target, u between two values a row.

Two forms of the same set. With few columns the equations are kept. With nearly as many columns as rows u is written as
one solution plus the kernel, which has few dimensions then: programs of a batch of 256 rows and rank 224 are solved ten
to thirty times faster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedleak.core.arrays import FloatArray

NEGLIGIBLE = 1e-7  # slack below this is added to the bounds of the rows, above it stays with its equation


@dataclass(frozen=True, eq=False)
class MixedConstraints:
    """least <= matrix @ (t, others) <= most, t = (1 - y) / 2 a row and ``others`` between bounds."""

    matrix: FloatArray
    least: FloatArray
    most: FloatArray
    others_low: FloatArray
    others_high: FloatArray


class Relaxation(Protocol):
    @property
    def width(self) -> int:
        """Columns of its matrices: what a program costs beside its rows."""

    def push(self, row: int, sign: float, low: FloatArray, high: FloatArray) -> FloatArray | None:
        """Weights of the equations, dual to the largest sign * u of one row; None where no u fits."""

    def mixed(self, low: FloatArray, high: FloatArray) -> MixedConstraints:
        """For a search, with h between the bounds."""


def relaxation(basis: FloatArray, target: FloatArray, slack: FloatArray) -> Relaxation:
    n_rows, rank = basis.shape
    spread = np.abs(basis) @ slack
    if n_rows - rank < rank and spread.max(initial=0.0) < NEGLIGIBLE:
        kernel = np.linalg.svd(basis, full_matrices=True)[0][:, rank:]
        return ByKernel(basis, basis @ target, kernel, spread)
    return ByEquations(basis, target, slack)


@dataclass(frozen=True, eq=False)
class ByEquations:
    basis: FloatArray
    target: FloatArray
    slack: FloatArray

    @property
    def width(self) -> int:
        return int(self.basis.shape[1])

    def push(self, row: int, sign: float, low: FloatArray, high: FloatArray) -> FloatArray | None:
        from scipy.optimize import linprog

        n_rows, rank = self.basis.shape
        aim = np.zeros(n_rows + rank)
        aim[row] = -sign
        bounds = list(zip(np.append(low, -self.slack), np.append(high, self.slack), strict=True))
        matrix = np.hstack([self.basis.T, np.eye(rank)])
        found = linprog(aim, A_eq=matrix, b_eq=self.target, bounds=bounds, method="highs")
        return None if found.x is None else np.asarray(found.eqlin.marginals)

    def mixed(self, low: FloatArray, high: FloatArray) -> MixedConstraints:
        """basis.T @ (h + t) = target + basis.T @ 1 / 2; orthonormal columns have entries of about 1 / scale."""
        scale = np.sqrt(len(low))
        right = scale * (self.target + self.basis.sum(axis=0) / 2)
        matrix = scale * np.hstack([self.basis.T, self.basis.T])
        return MixedConstraints(matrix, right - scale * self.slack, right + scale * self.slack, low, high)


@dataclass(frozen=True, eq=False)
class ByKernel:
    basis: FloatArray
    point: FloatArray  # (rows,): one u that meets the equations
    kernel: FloatArray  # (rows, rows - rank)
    spread: FloatArray  # (rows,): how far slack moves u

    @property
    def width(self) -> int:
        return int(self.kernel.shape[1])

    def push(self, row: int, sign: float, low: FloatArray, high: FloatArray) -> FloatArray | None:
        from scipy.optimize import linprog

        above, below = high + self.spread - self.point, self.point - low + self.spread
        if not self.kernel.shape[1]:
            return None if np.any(above < 0) or np.any(below < 0) else -sign * self.basis[row]
        found = linprog(
            -sign * self.kernel[row],
            A_ub=np.vstack([self.kernel, -self.kernel]),
            b_ub=np.concatenate([above, below]),
            bounds=(None, None),
            method="highs",
        )
        if found.x is None:
            return None
        prices = found.ineqlin.marginals[: len(low)] - found.ineqlin.marginals[len(low) :]
        prices[row] += sign  # now orthogonal to the kernel: a combination of the equations
        return np.asarray(-self.basis.T @ prices)

    def mixed(self, low: FloatArray, high: FloatArray) -> MixedConstraints:
        """h = point + kernel @ z + 1 / 2 - t."""
        free = np.full(self.kernel.shape[1], np.inf)
        matrix = np.hstack([-np.eye(len(low)), self.kernel])
        least, most = low - self.spread - self.point - 0.5, high + self.spread - self.point - 0.5
        return MixedConstraints(matrix, least, most, -free, free)
