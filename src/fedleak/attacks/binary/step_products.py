"""Σ α_i of all local batches from one product P = ∏ (I − s α_i), which theorem 2 of Li et al. 2019 calls hopeless.

Real symmetric factors are indeed not determined. But the α_i of random batches differ little from Σ/n, and Σ has
integer entries: an estimate whose error is below 1/2 is exact after rounding.

1. Were all α_i equal, P = (I − sΣ/n)ⁿ: the symmetrised logarithm gives Σ to first order in the differences.
   The differences' expected second order is taken off.
2. The differences δ_i = α_i − Σ/n are those of a random partition of rows, whose covariance follows from Σ itself. The
   product's antisymmetric part, the commutators, tells much of them: Σ and δ are fitted to P together, with that
   covariance as a prior (Gauss–Newton).
3. What P leaves open in δ shifts the answer by its second moment, which is estimated by sampling and taken off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray

N_DRAWS = 64
MAX_STEPS = 8
RIDGE = 1e-4  # share of the mean variance: what the linear model misses counts as noise of this size
SAMPLED_AT = (1, 3)  # steps after which the second moment of what P leaves open is taken again
CONVERGED = 1e-5
MAX_FITTED = 32  # columns; the fit inverts matrices of the square of this size


@dataclass(frozen=True, eq=False)
class Product:
    """P = (I − s α_n) ⋯ (I − s α_1), with s a quarter of the learning rate; rows over all batches."""

    matrix: FloatArray
    step: float
    n_batches: int
    n_rows: int


def first_estimate(product: Product) -> FloatArray | None:
    """n/s · (I − P^(1/n)) with the symmetrised logarithm; None where the step is so large that P has no real one."""
    from scipy.linalg import logm

    eigenvalues = np.linalg.eigvals(product.matrix)
    if (eigenvalues.real <= 0).any():
        return None
    logarithm = np.real(logm(product.matrix))
    values, vectors = np.linalg.eigh(-(logarithm + logarithm.T) / 2)
    n = product.n_batches
    estimate: FloatArray = n / product.step * (vectors * (1 - np.exp(-values / n))) @ vectors.T
    return estimate


def without_mean_spread(product: Product, first: FloatArray) -> FloatArray | None:
    """Take off (s/2) E[Σ δ_i²], the expected second order of a random partition: all that is done for wide tables."""
    total = first
    n_contrasts = product.n_batches - 1
    if np.abs(first).max() > 2 * product.n_rows:
        return None  # no counts of so many rows
    for _ in range(MAX_STEPS):
        moment = total / product.n_rows
        mean = moment.diagonal()
        squares = moment @ moment + np.trace(moment) * moment - 2 * (mean @ mean) * np.outer(mean, mean)
        per_batch = product.n_rows / product.n_batches
        total = first - product.step / 2 * n_contrasts * per_batch * squares
    return total


@dataclass(frozen=True, eq=False)
class LocalSteps:
    """Σ α_i as real numbers, to be rounded, and for each batch the product of the steps after it."""

    total: FloatArray
    later_steps: list[FloatArray]


def alike_steps(product: Product, total: FloatArray) -> LocalSteps:
    """All batches taken for their mean."""
    one_step = np.eye(len(total)) - product.step * total / product.n_batches
    powers = [np.linalg.matrix_power(one_step, product.n_batches - 1 - i) for i in range(product.n_batches)]
    return LocalSteps(total, powers)


def sum_of_grams(product: Product, rng: np.random.Generator) -> LocalSteps | None:
    """None where the step is too large for an answer."""
    first = first_estimate(product)
    total = None if first is None else without_mean_spread(product, first)
    if total is None:
        return None
    if product.n_batches == 1 or len(total) > MAX_FITTED:
        return alike_steps(product, total)
    fit = _Fit(product, total)
    for number in range(MAX_STEPS):
        try:
            change = fit.improve()
        except np.linalg.LinAlgError:
            return None  # the moments of the estimate are those of no rows
        if not np.isfinite(change) or change > product.n_rows:
            return None
        if number in SAMPLED_AT:
            fit.account_for_the_open_part(rng)
        elif number > max(SAMPLED_AT) and change < CONVERGED:
            break
    left, _, _ = fit.factors()
    return LocalSteps(fit.total, left)


class _Fit:
    """Gauss–Newton over Σ (free) and the δ_i (with their prior), so that the product comes out as P."""

    def __init__(self, product: Product, total: FloatArray) -> None:
        self.product = product
        self.total = total
        self.deltas: FloatArray = np.zeros((product.n_batches, *total.shape))
        self.shift: FloatArray = np.zeros(total.shape)
        self._per_batch = product.n_rows / product.n_batches
        # Mean and second moment of a row; the prior stays as the first estimate has it.
        self._mean = np.clip(total.diagonal() / product.n_rows, 0.0, 1.0)
        lean = np.outer(self._mean, self._mean)
        values, vectors = np.linalg.eigh(total / product.n_rows - lean)
        self._root = vectors * np.sqrt(np.maximum(values, 0.0))
        self._moment = self._root @ self._root.T + lean
        self._symmetric = _symmetric_basis(len(total))

    def improve(self) -> float:
        """One step; the largest change of Σ."""
        from scipy.linalg import cho_factor, cho_solve

        d = len(self.total)
        left, right, modelled = self.factors()
        jacobians = [np.kron(a, b.T) for a, b in zip(left, right, strict=True)]  # of −P/s, rows of δ_i in order
        mean_jacobian: FloatArray = np.mean(jacobians, axis=0)
        residual = ((modelled - self.product.matrix) / self.product.step - self.shift).ravel()
        target = residual + sum(
            jacobian @ delta.ravel() for jacobian, delta in zip(jacobians, self.deltas, strict=True)
        )
        contrasts = [jacobian - mean_jacobian for jacobian in jacobians]
        variance = np.zeros((d * d, d * d))
        for contrast in contrasts:
            variance += _through_prior(contrast, self._moment, self._mean, self._per_batch)
        variance += RIDGE * np.trace(variance) / d**2 * np.eye(d**2)
        of_total = mean_jacobian @ self._symmetric
        self._variance = cho_factor(variance)
        self._weighted = cho_solve(self._variance, of_total)
        self._information = cho_factor(of_total.T @ self._weighted)
        self._of_total, self._contrasts = of_total, contrasts
        change, deltas = self._split(target[:, None])
        self.deltas = deltas[:, 0]
        self.total = self.total + change[0]
        return float(np.abs(change).max())

    def account_for_the_open_part(self, rng: np.random.Generator) -> None:
        """Second order of what the data leave open: drawn from the prior, with what P explains taken away."""
        left, right, _ = self.factors()
        n, d = self.product.n_batches, len(self.total)
        factors = self._step_factors()
        drawn = np.array([[self._draw(rng) for _ in range(N_DRAWS)] for _ in range(n)])
        seen = sum(c @ delta.reshape(-1, d * d).T for c, delta in zip(self._contrasts, drawn, strict=True))
        total_error, explained = self._split(seen)
        rest = drawn - drawn.mean(axis=0) - explained - total_error / n
        second = np.zeros_like(rest[0])
        for first in range(n):
            running = rest[first] @ right[first]
            for later in range(first + 1, n):
                second -= self.product.step * left[later] @ rest[later] @ running
                running = factors[later] @ running
        self.shift = second.mean(axis=0)

    def _split(self, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Generalised least squares, a column a case: what Σ explains (cases, d, d), and the conditional mean of the
        δ_i (batches, cases, d, d)."""
        from scipy.linalg import cho_solve

        d = len(self.total)
        coefficients = cho_solve(self._information, self._weighted.T @ targets)
        change = (self._symmetric @ coefficients).T.reshape(-1, d, d)
        weights = cho_solve(self._variance, targets - self._of_total @ coefficients)
        pulled = np.array([(contrast.T @ weights).T.reshape(-1, d, d) for contrast in self._contrasts])
        return change, self._prior_times(pulled)

    def _prior_times(self, directions: FloatArray) -> FloatArray:
        both = directions + np.swapaxes(directions, -1, -2)
        weight = (both @ self._mean) @ self._mean
        lean = weight[..., None, None] * np.outer(self._mean, self._mean)
        result: FloatArray = self._per_batch * (self._moment @ both @ self._moment - lean)
        return result

    def _draw(self, rng: np.random.Generator) -> FloatArray:
        """δ of one batch: fluctuation of the mean row, and of the rows around it."""
        d = len(self.total)
        lean = np.outer(self._mean, self._root @ rng.standard_normal(d))
        noise = rng.standard_normal((d, d))
        spread = self._root @ ((noise + noise.T) / np.sqrt(2)) @ self._root.T
        drawn: FloatArray = np.sqrt(self._per_batch) * (lean + lean.T + spread)
        return drawn

    def _step_factors(self) -> list[FloatArray]:
        d, n = len(self.total), self.product.n_batches
        return [np.eye(d) - self.product.step * (self.total / n + delta) for delta in self.deltas]

    def factors(self) -> tuple[list[FloatArray], list[FloatArray], FloatArray]:
        """For each batch what multiplies it from the left and from the right, and the modelled product."""
        steps = self._step_factors()
        right = [np.eye(len(self.total))]
        for factor in steps[:-1]:
            right.append(factor @ right[-1])
        left = [np.eye(len(self.total))]
        for factor in reversed(steps[1:]):
            left.append(left[-1] @ factor)
        return left[::-1], right, steps[-1] @ right[-1]


def _through_prior(jacobian: FloatArray, moment: FloatArray, mean: FloatArray, per_batch: float) -> FloatArray:
    """J Cov Jᵀ with Cov[δ_ab, δ_cd] = b (M_ac M_bd + M_ad M_bc − 2 μ_a μ_b μ_c μ_d)."""
    d = len(mean)
    blocks = jacobian.reshape(-1, d, d)
    spread = moment @ (blocks + blocks.transpose(0, 2, 1)) @ moment
    flat = np.outer(mean, mean).ravel()
    lean = jacobian @ flat
    variance: FloatArray = per_batch * (jacobian @ spread.reshape(len(jacobian), -1).T - 2 * np.outer(lean, lean))
    return variance


def _symmetric_basis(d: int) -> FloatArray:
    """Columns span the symmetric d × d matrices, flattened."""
    rows, columns = np.triu_indices(d)
    basis = np.zeros((d * d, len(rows)))
    index = np.arange(len(rows))
    basis[rows * d + columns, index] = 1.0
    basis[columns * d + rows, index] = 1.0
    return basis
