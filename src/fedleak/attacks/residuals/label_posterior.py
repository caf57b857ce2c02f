"""How likely each label is, given gradients of batches with more rows than columns.

Before anything is seen both labels of a row are as likely as each other. Given the sums of its batches, its label is
distributed as under the tilted measure P(y) ~ exp(sum_i y_i theta_i), theta = basis @ weights, whose sums have the
observed values as means: the minimum of the convex sum_i log cosh(theta_i) - weights . sums + 1/2 weights' V weights,
where V is the variance of what blurs the sums (scores from outside, noise, rounding). One Newton step from zero is the
least-squares solution of smallest norm; the others make probabilities of it. Rounds are solved in turn, each with
what the others say of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray

MAX_SWEEPS = 8  # over all rounds
MAX_STEPS = 40  # of Newton's method in a round
SETTLED = 1e-6  # of the largest change of theta
LARGEST_FIELD = 40.0  # of theta: a label that is certain has an infinite one


@dataclass(frozen=True, eq=False)
class LabelSums:
    """One round: basis.T @ y is ``sums``, up to a Gaussian error; labels are -1 and +1."""

    rows: IntArray
    basis: FloatArray  # (rows, rank), orthonormal columns
    sums: FloatArray  # (rank,)
    blur: FloatArray  # (rows,): variance of what each row adds beside its label
    slack: FloatArray  # (rank,): of each sum


@dataclass(frozen=True, eq=False)
class Posterior:
    """``theta`` is half the log odds of label 1 over label 0; NaN for rows in no batch."""

    theta: FloatArray
    leverage: FloatArray  # of a row in its first batch

    @property
    def certainty(self) -> FloatArray:
        """The probability of the likelier label."""
        return np.asarray(1 / (1 + np.exp(-2 * np.abs(self.theta))))


def smallest_norm(batch: LabelSums) -> FloatArray:
    """The least-squares solution for the labels of one batch."""
    return np.asarray(batch.basis @ batch.sums)


def label_posterior(batches: Sequence[LabelSums], n_rows: int) -> Posterior:
    """Block coordinate descent on the rounds' weights, then what each row's own label adds (``_own_part``)."""
    theta = np.zeros(n_rows)
    tilts = [np.zeros(batch.basis.shape[1]) for batch in batches]
    spreads = [_spread(batch) for batch in batches]
    for _ in range(MAX_SWEEPS):
        before = theta.copy()
        for index, batch in enumerate(batches):
            field = theta[batch.rows] - batch.basis @ tilts[index]
            tilts[index] = _tilt(batch, spreads[index], field, tilts[index])
            theta[batch.rows] = np.clip(field + batch.basis @ tilts[index], -LARGEST_FIELD, LARGEST_FIELD)
        if np.max(np.abs(theta - before), initial=0.0) < SETTLED or _are_disjoint(batches):
            break
    return _with_own_part(batches, spreads, theta)


def _are_disjoint(batches: Sequence[LabelSums]) -> bool:
    rows = np.concatenate([batch.rows for batch in batches]) if batches else np.zeros(0, dtype=np.int64)
    return len(np.unique(rows)) == len(rows)


def _spread(batch: LabelSums) -> FloatArray:
    """V: variance of the sums beside the labels'."""
    return (batch.basis.T * batch.blur) @ batch.basis + np.diag(batch.slack**2)


def _tilt(batch: LabelSums, spread: FloatArray, field: FloatArray, start: FloatArray) -> FloatArray:
    """Newton's method with halved steps."""
    weights, value = start, _value(batch, spread, field, start)
    for _ in range(MAX_STEPS):
        means = np.tanh(field + batch.basis @ weights)
        slope = batch.basis.T @ means - batch.sums + spread @ weights
        curve = (batch.basis.T * (1 - means**2)) @ batch.basis + spread
        # A direction in which every label is certain has no curvature left; the tiny ridge keeps the step finite.
        step = np.linalg.solve(curve + 1e-9 * np.eye(len(weights)), slope)
        size = min(1.0, LARGEST_FIELD / max(float(np.max(np.abs(batch.basis @ step), initial=0.0)), 1e-300))
        while size > 1e-4 and _value(batch, spread, field, weights - size * step) > value:
            size /= 2
        moved = weights - size * step
        new = _value(batch, spread, field, moved)
        if not new < value - 1e-12 * (1 + abs(value)):
            break
        weights, value = moved, new
        if np.max(np.abs(batch.basis @ weights), initial=0.0) > LARGEST_FIELD:
            break
    return weights


def _value(batch: LabelSums, spread: FloatArray, field: FloatArray, weights: FloatArray) -> float:
    theta = np.abs(field + batch.basis @ weights)
    log_cosh = theta + np.log1p(np.exp(-2 * theta))
    return float(log_cosh.sum() - weights @ batch.sums + 0.5 * weights @ spread @ weights)


def _with_own_part(batches: Sequence[LabelSums], spreads: Sequence[FloatArray], theta: FloatArray) -> Posterior:
    """The tilted measure has the sums right on average; given the sums themselves, row i adds to them what the others
    leave. By the normal density of the others' sum its log odds grow by 2 m q, q = k / (1 - w k), m = tanh(theta),
    w = 1 - m^2, k = x' C^-1 x with C the variance of the whole sum. From theta = 0 that makes 1 / (1 - leverage)."""
    means = np.tanh(theta)
    leverage, added = np.full(len(theta), np.nan), np.zeros(len(theta))
    for batch, spread in zip(batches, spreads, strict=True):
        variance = 1 - means[batch.rows] ** 2
        whole = (batch.basis.T * variance) @ batch.basis + spread + 1e-9 * np.eye(batch.basis.shape[1])
        k = np.einsum("ij,ji->i", batch.basis, np.linalg.solve(whole, batch.basis.T))
        own = means[batch.rows] * k / np.maximum(1 - variance * k, 1e-9)
        # Rounds that hold the same rows say the same thing again: the strongest counts once.
        added[batch.rows] = np.where(np.abs(own) > np.abs(added[batch.rows]), own, added[batch.rows])
        plain = np.einsum("ij,ij->i", batch.basis, batch.basis)
        leverage[batch.rows] = np.where(np.isnan(leverage[batch.rows]), plain, leverage[batch.rows])
    found = np.where(np.isnan(leverage), np.nan, np.clip(theta + added, -LARGEST_FIELD, LARGEST_FIELD))
    return Posterior(found, leverage)
