"""Unknown columns as a linear regression on own columns: x_i = M u_i + e_i, with M common to all rows.

Before any prediction is looked at, M and the spread of e are those of the adversary's own columns regressed on one
another: columns are taken as exchangeable. Linearised predictions A_i x_i = b_i of all rows then say what M is: rows
differ in A_i where the model is not linear, so together they tell columns apart that no row does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.equality.column_prior import on_unit_interval, prior_of_columns
from fedleak.core.arrays import FloatArray

RIDGE = 0.01  # a row, on the slopes of own columns: keeps nearly dependent ones apart


@dataclass(frozen=True, eq=False)
class ColumnRegression:
    """The prior of M, a Gaussian with independent entries, and of the rows' deviations e."""

    basis: FloatArray  # u, (rows, terms): one, then own columns standardised
    mean: FloatArray  # (unknowns, terms)
    variance: FloatArray  # (unknowns, terms)
    row_variance: float

    def centres(self, coefficients: FloatArray) -> FloatArray:
        return np.asarray(self.basis @ coefficients.T)


@dataclass(frozen=True, eq=False)
class Learnt:
    coefficients: FloatArray  # M, (unknowns, terms)
    precision: FloatArray  # of its entries, row by row

    def draw(self, rng: np.random.Generator) -> FloatArray:
        triangle = np.linalg.cholesky(self.precision)
        drawn = np.linalg.solve(triangle.T, rng.standard_normal(len(triangle)))
        return np.asarray(self.coefficients + drawn.reshape(self.coefficients.shape))


def regression_prior(own: FloatArray, n_unknown: int) -> ColumnRegression:
    means = prior_of_columns(own, n_unknown)
    spans = np.ptp(own, axis=0) if own.size else np.empty(0)
    varying = own[:, spans > 0]
    basis = np.column_stack([np.ones(len(own)), _standardised(varying)])
    slope_variance, row_variance = (
        _among_own(on_unit_interval(own)) if varying.shape[1] > 1 else (0.0, means.row_variance)
    )
    mean, variance = np.zeros((n_unknown, basis.shape[1])), np.full((n_unknown, basis.shape[1]), slope_variance)
    mean[:, 0], variance[:, 0] = means.mean, means.mean_variance
    return ColumnRegression(basis, mean, np.maximum(variance, 1e-9), max(row_variance, 1e-4))


def learn(
    prior: ColumnRegression, matrix: FloatArray, right: FloatArray, inverse: FloatArray, tempering: float
) -> Learnt:
    """M given ``matrix[i] @ x_i = right[i]``, where ``inverse`` inverts the covariance of each right side given M.

    ``tempering`` below 1 counts each row for less than one: errors of linearisation are alike across rows.
    """
    n_rows, n_terms = prior.basis.shape
    width = matrix.shape[2]
    back = matrix.swapaxes(1, 2) @ inverse  # (rows, unknowns, equations)
    squares = (prior.basis[:, :, None] * prior.basis[:, None, :]).reshape(n_rows, -1)
    # The precision is the sum over rows of (A' C^-1 A) kron (u u'): one product of two thin matrices.
    blocks = (back @ matrix).reshape(n_rows, -1).T @ squares
    precision = tempering * blocks.reshape(width, width, n_terms, n_terms).swapaxes(1, 2).reshape(width * n_terms, -1)
    precision += np.diag(1.0 / prior.variance.ravel())
    gap = right - np.einsum("nkd,nd->nk", matrix, prior.centres(prior.mean))
    pull = tempering * np.einsum("ndk,nk->nd", back, gap).T @ prior.basis
    step = np.linalg.solve(precision, pull.ravel()).reshape(width, n_terms)
    return Learnt(prior.mean + step, precision)


def _among_own(unit: FloatArray) -> tuple[float, float]:
    """Mean square of a slope and of a residual where each own column is regressed on the others."""
    slopes, residuals = [], []
    for position in range(unit.shape[1]):
        others = _standardised(np.delete(unit, position, axis=1))
        centred = unit[:, position] - unit[:, position].mean()
        gram = others.T @ others + RIDGE * len(unit) * np.eye(others.shape[1])
        slope = np.linalg.solve(gram, others.T @ centred)
        slopes.append(float((slope**2).mean()))
        residuals.append(float(((centred - others @ slope) ** 2).mean()))
    return float(np.mean(slopes)), float(np.mean(residuals))


def _standardised(columns: FloatArray) -> FloatArray:
    return np.asarray((columns - columns.mean(axis=0)) / columns.std(axis=0))
