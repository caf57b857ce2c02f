"""What went into the first fully connected layer, row by row, from one gradient.

The rows [h_k, 1] = q_k B^T lie in the space that the gradient shows (``layer_factors``), and their last entry is 1. The
error d_k is a function of h_k and its label, so 1/K sum of d_k q_k^T and the gradients of all later layers must come
out as they were seen: outputs x K equations and more. Residuals are weighted by what floating point does to them:
rounding of the sums, alike everywhere, and rounding of the errors d_k, along the rows. Where the residual ends at that
level from several starts and they agree, the rows are the only ones near; that is told, not assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.networks.dense_top import Blocks, DenseTop, Passed, moved, passed
from fedleak.attacks.networks.layer_factors import LayerFactors
from fedleak.core.arrays import FloatArray, IntArray, Value

STEPS = 200
TRIES = 12  # dampings of one step
SETTLED = 1e-7  # a step that lowers the residual by less, three times running, is the last
CARRIED = 8.0  # roundings that an error d_k has gathered on its way back
TEMPERED = (1e3, 1.0)  # times the rounding: weights that are all alike first lead to the right valley


@dataclass(frozen=True, eq=False)
class Equations(Value):
    """Of one gradient. ``blocks``: the first layer's in the basis of its rows, then later layers' [dW | db]."""

    top: DenseTop
    factors: LayerFactors
    blocks: tuple[FloatArray, ...]
    epsilon: float

    @property
    def folded(self) -> FloatArray:
        """(outputs, K): the first layer in the basis of the rows."""
        first = self.top.layers[0]
        whole = first.weight if first.bias is None else np.column_stack([first.weight, first.bias])
        return np.asarray(whole @ self.factors.basis)

    @property
    def n_equations(self) -> int:
        return sum(block.size for block in self.blocks)

    def through(self, mixes: FloatArray, labels: FloatArray) -> Passed:
        return passed(self.top, mixes @ self.folded.T, labels)


@dataclass(frozen=True, eq=False)
class HiddenRows(Value):
    """``rows``: (K, inputs). ``misfit``: squared residual for each equation to spare, in units of rounding."""

    rows: FloatArray
    errors: FloatArray  # (K, outputs): d_k
    labels: IntArray
    mixes: FloatArray
    misfit: float


def equations_of(top: DenseTop, factors: LayerFactors, gradient: dict[str, FloatArray], epsilon: float) -> Equations:
    later = [top.gradient_of(place, gradient) for place in range(1, len(top.layers))]
    return Equations(top, factors, (factors.mixed, *later), epsilon)


def free_directions(equations: Equations) -> tuple[FloatArray, FloatArray]:
    """(K, free): how a row's mix may move, and the shortest mix: its entry for the bias stays 1."""
    n_rows = equations.factors.n_rows
    if equations.top.layers[0].bias is None:
        return np.eye(n_rows), np.zeros(n_rows)
    ones = equations.factors.basis[-1]
    return np.linalg.svd(ones[None])[2][1:].T, ones / (ones @ ones)


def start_from(equations: Equations, rows: FloatArray) -> FloatArray:
    """Mixes nearest to such rows."""
    free, shortest = free_directions(equations)
    whole = rows if equations.top.layers[0].bias is None else np.column_stack([rows, np.ones(len(rows))])
    return shortest + (whole @ equations.factors.basis) @ free @ free.T


def solved(equations: Equations, labels: IntArray, start: FloatArray) -> HiddenRows:
    """From one start; look at ``misfit`` before believing it."""
    shares = np.eye(len(equations.top.layers[-1].weight))[labels]
    mixes, misfit = start, np.inf
    for times in TEMPERED:
        mixes, misfit = _descended(equations, mixes, shares, _Weights(equations, mixes, shares, times))
    weights = _Weights(equations, mixes, shares, 1.0, seen=True)
    mixes, misfit = _descended(equations, mixes, shares, weights)
    return _found(equations, mixes, shares, labels, misfit)


def weighed(equations: Equations, labels: IntArray, rows: FloatArray) -> HiddenRows:
    """Rows that were found in another way: what the equations say of them, without a step. Later layers count by their
    rounding alone, so that a gradient that was changed shows."""
    shares, mixes = np.eye(len(equations.top.layers[-1].weight))[labels], start_from(equations, rows)
    residuals = _residuals(equations, equations.through(mixes, shares), mixes)
    whole = _weighted(_Weights(equations, mixes, shares, 1.0), residuals)
    return _found(equations, mixes, shares, labels, float(whole @ whole))


def _found(equations: Equations, mixes: FloatArray, shares: FloatArray, labels: IntArray, squared: float) -> HiddenRows:
    rows = mixes @ equations.factors.basis.T
    errors = equations.through(mixes, shares).errors[0]
    spare = max(1, equations.n_equations - free_directions(equations)[0].shape[1] * len(mixes))
    inputs = rows if equations.top.layers[0].bias is None else rows[:, :-1]
    return HiddenRows(inputs, errors, labels, mixes, squared / spare)


class _Weights:
    """Whitens residuals: noise of every row of a gradient, and errors d_k that are off by their rounding."""

    def __init__(
        self, equations: Equations, mixes: FloatArray, labels: FloatArray, times: float, *, seen: bool = False
    ) -> None:
        """``times`` the rounding; ``seen``: of later layers, what the residual shows where it is more."""
        at, n_rows = equations.through(mixes, labels), len(mixes)
        residuals = _residuals(equations, at, mixes)
        self._parts: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        for place, block in enumerate(equations.blocks):
            inputs = mixes if place == 0 else at.inputs[place]
            noise = equations.factors.noise if place == 0 else _rounding(at.errors[place], inputs, equations.epsilon)
            if seen and place:
                noise = np.maximum(noise, _off_mean(residuals[place], inputs))
            scale = float(np.sqrt(((at.errors[place] / noise) ** 2).mean()))
            _, sizes, right = np.linalg.svd(inputs / n_rows, full_matrices=False)
            floor = (times - 1) * equations.epsilon * float(np.sqrt(((block / noise[:, None]) ** 2).mean()))
            quiet = 1 / np.hypot(1.0, floor)
            along = 1 / np.sqrt((CARRIED * equations.epsilon * scale * sizes) ** 2 + 1 / quiet**2)
            self._parts.append((quiet / noise[:, None], right, along / quiet - 1))

    def of(self, place: int, residual: FloatArray) -> FloatArray:
        quiet, right, along = self._parts[place]
        scaled = residual * quiet
        return np.asarray(scaled + ((scaled @ right.T) * along) @ right)


def _rounding(errors: FloatArray, inputs: FloatArray, epsilon: float) -> FloatArray:
    """What summing K products in floating point adds to each row of a later layer's gradient."""
    size = np.sqrt((errors**2).mean(axis=0)) * np.sqrt((inputs**2).mean() / len(errors))
    return np.asarray(epsilon * np.maximum(size, 1e-3 * size.max()))


def _off_mean(residual: FloatArray, inputs: FloatArray) -> FloatArray:
    """Of each row of a residual, its size off the direction that all rows of the batch share."""
    mean = inputs.mean(axis=0)
    mean /= np.linalg.norm(mean)
    return np.asarray(np.sqrt(((residual - np.outer(residual @ mean, mean)) ** 2).mean(axis=1)))


def _residuals(equations: Equations, at: Passed, mixes: FloatArray) -> Blocks:
    inputs = (mixes, *at.inputs[1:])
    return [
        errors.T @ given / len(mixes) - block
        for errors, given, block in zip(at.errors, inputs, equations.blocks, strict=True)
    ]


def _weighted(weights: _Weights, blocks: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate([weights.of(place, block).ravel() for place, block in enumerate(blocks)])


def _jacobian(equations: Equations, at: Passed, mixes: FloatArray, free: FloatArray, weights: _Weights) -> FloatArray:
    """(unknowns, equations), row after row of the batch."""
    n_rows, n_free = len(mixes), free.shape[1]
    directions = (equations.folded @ free).T
    inputs, errors = moved(equations.top, at, directions, np.zeros((n_free, at.shares.shape[1])))
    inputs[0] = np.broadcast_to(free.T, (n_rows, n_free, n_rows))
    parts = []
    for place, given in enumerate((mixes, *at.inputs[1:])):
        turned = errors[place][..., None] * given[:, None, None, :]
        shifted = at.errors[place][:, None, :, None] * inputs[place][:, :, None, :]
        parts.append(weights.of(place, (turned + shifted) / n_rows).reshape(n_rows * n_free, -1))
    return np.concatenate(parts, axis=1)


def _descended(
    equations: Equations, mixes: FloatArray, labels: FloatArray, weights: _Weights
) -> tuple[FloatArray, float]:
    """Levenberg-Marquardt: mixes and squared residual."""
    free, _ = free_directions(equations)
    at = equations.through(mixes, labels)
    residual = _weighted(weights, _residuals(equations, at, mixes))
    squared, damping, idle = float(residual @ residual), 1e-2, 0
    for _ in range(STEPS if free.size else 0):
        jacobian = _jacobian(equations, at, mixes, free, weights)
        normal, slope = jacobian @ jacobian.T, jacobian @ residual
        for _ in range(TRIES):
            step = _step(normal, slope, damping).reshape(len(mixes), -1) @ free.T
            tried = equations.through(mixes + step, labels)
            after = _weighted(weights, _residuals(equations, tried, mixes + step))
            if float(after @ after) < squared:
                break
            damping *= 4
        else:
            return mixes, squared
        gained = 1 - float(after @ after) / squared
        mixes, at, residual, squared = mixes + step, tried, after, float(after @ after)
        damping, idle = max(damping / 5, 1e-14), idle + 1 if gained < SETTLED else 0
        if idle == 3:
            break
    return mixes, squared


def _step(normal: FloatArray, slope: FloatArray, damping: float) -> FloatArray:
    damped = normal + np.diag(damping * np.diag(normal) + 1e-300)
    try:
        return np.asarray(np.linalg.solve(damped, -slope), np.float64)
    except np.linalg.LinAlgError:
        return -slope / np.maximum(np.diag(damped), 1e-300)
