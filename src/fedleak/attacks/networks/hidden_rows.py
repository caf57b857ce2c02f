"""What went into the first fully connected layer, row by row, from one gradient.

Its equations (``batch_equations``) are solved by Levenberg-Marquardt with exact derivatives, residuals weighted by what
floating point does to them (``rounding_weights``). Where the residual ends at that level from several starts and they
agree, the rows are the only ones near; that is told, not assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.batch_equations import Equations, free_directions, residuals, start_from
from fedleak.attacks.networks.dense_top import Passed, moved
from fedleak.attacks.networks.rounding_weights import EvenWeights, UnitWeights, off_basis
from fedleak.core.arrays import FloatArray, IntArray, Value

STEPS = 200
TRIES = 12  # dampings of one step
SETTLED = 1e-7  # a step that lowers the residual by less, three times running, is the last
TEMPERED = (1e3, 1.0)  # times the rounding: weights that are all alike first lead to the right valley
WEIGHED_AGAIN = 2  # weights depend on the rows

_Weights = EvenWeights | UnitWeights


@dataclass(frozen=True, eq=False)
class HiddenRows(Value):
    """``rows``: (K, inputs). ``misfit``: squared residual for each equation to spare, in units of rounding.
    ``deviation``: of a number in each row, as rounding lets expect."""

    rows: FloatArray
    errors: FloatArray  # (K, outputs): d_k
    labels: IntArray
    mixes: FloatArray
    misfit: float
    deviation: FloatArray


def solved(equations: Equations, labels: IntArray, start: FloatArray) -> HiddenRows:
    """From one start; look at ``misfit`` before believing it."""
    shares = np.eye(len(equations.top.layers[-1].weight))[labels]
    mixes, squared, normal = start, np.inf, np.eye(0)
    for times in TEMPERED:
        mixes, _, _ = _descended(equations, mixes, shares, EvenWeights(equations, mixes, shares, times))
    for _ in range(WEIGHED_AGAIN):
        mixes, squared, normal = _descended(equations, mixes, shares, UnitWeights(equations, mixes, shares))
    along = np.diag(np.linalg.pinv(normal, hermitian=True)).reshape(len(mixes), -1).sum(axis=1)
    return _found(equations, mixes, shares, labels, squared, along)


def weighed(equations: Equations, labels: IntArray, rows: FloatArray) -> HiddenRows:
    """Rows that were found in another way: what the equations say of them, without a step. Later layers count by their
    rounding alone, so that a gradient that was changed shows."""
    shares, mixes = np.eye(len(equations.top.layers[-1].weight))[labels], start_from(equations, rows)
    left = residuals(equations, equations.through(mixes, shares), mixes)
    whole = _weighted(EvenWeights(equations, mixes, shares, 1.0), left)
    return _found(equations, mixes, shares, labels, float(whole @ whole), np.zeros(len(rows)))


def _found(
    equations: Equations,
    mixes: FloatArray,
    shares: FloatArray,
    labels: IntArray,
    squared: float,
    along: FloatArray,
) -> HiddenRows:
    """``along``: squared error of each row in the basis."""
    rows, errors = mixes @ equations.factors.basis.T, equations.through(mixes, shares).errors[0]
    spare = max(1, equations.n_equations - free_directions(equations)[0].shape[1] * len(mixes))
    inputs = rows if equations.ones is None else rows[:, :-1]
    across = np.diag(off_basis(equations, errors))
    deviation = np.sqrt((along + across * inputs.shape[1]) / inputs.shape[1])
    return HiddenRows(inputs, errors, labels, mixes, squared / spare, deviation)


def _weighted(weights: _Weights, blocks: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate([weights.of(place, block).ravel() for place, block in enumerate(blocks)])


def _left_over(equations: Equations, at: Passed, mixes: FloatArray, weights: _Weights) -> FloatArray:
    left = _weighted(weights, residuals(equations, at, mixes))
    if weights.unity is None or equations.ones is None:
        return left
    return np.concatenate([left, weights.unity @ (mixes @ equations.ones - 1)])


def _jacobian(equations: Equations, at: Passed, mixes: FloatArray, weights: _Weights) -> FloatArray:
    """(unknowns, equations), row after row of the batch."""
    free, n_rows = weights.free, len(mixes)
    n_free = free.shape[1]
    directions = (equations.folded @ free).T
    inputs, errors = moved(equations.top, at, directions, np.zeros((n_free, at.shares.shape[1])))
    inputs[0] = np.broadcast_to(free.T, (n_rows, n_free, n_rows))
    parts: list[FloatArray] = []
    for place, given in enumerate((mixes, *at.inputs[1:])):
        turned = errors[place][..., None] * given[:, None, None, :]
        shifted = at.errors[place][:, None, :, None] * inputs[place][:, :, None, :]
        parts.append(weights.of(place, (turned + shifted) / n_rows).reshape(n_rows * n_free, -1))
    if weights.unity is not None and equations.ones is not None:
        parts.append(np.asarray(np.kron(weights.unity.T, (equations.ones @ free)[:, None]), np.float64))
    return np.concatenate(parts, axis=1)


def _descended(
    equations: Equations, mixes: FloatArray, labels: FloatArray, weights: _Weights
) -> tuple[FloatArray, float, FloatArray]:
    """Levenberg-Marquardt: mixes, squared residual and the last normal matrix."""
    at = equations.through(mixes, labels)
    residual = _left_over(equations, at, mixes, weights)
    squared, damping, idle = float(residual @ residual), 1e-2, 0
    normal = np.eye(0)
    for _ in range(STEPS if weights.free.size else 0):
        jacobian = _jacobian(equations, at, mixes, weights)
        normal, slope = jacobian @ jacobian.T, jacobian @ residual
        for _ in range(TRIES):
            step = _step(normal, slope, damping).reshape(len(mixes), -1) @ weights.free.T
            tried = equations.through(mixes + step, labels)
            after = _left_over(equations, tried, mixes + step, weights)
            if float(after @ after) < squared:
                break
            damping *= 4
        else:
            return mixes, squared, normal
        gained = 1 - float(after @ after) / squared
        mixes, at, residual, squared = mixes + step, tried, after, float(after @ after)
        damping, idle = max(damping / 5, 1e-14), idle + 1 if gained < SETTLED else 0
        if idle == 3:
            break
    return mixes, squared, normal


def _step(normal: FloatArray, slope: FloatArray, damping: float) -> FloatArray:
    damped = normal + np.diag(damping * np.diag(normal) + 1e-300)
    try:
        return np.asarray(np.linalg.solve(damped, -slope), np.float64)
    except np.linalg.LinAlgError:
        return -slope / np.maximum(np.diag(damped), 1e-300)
