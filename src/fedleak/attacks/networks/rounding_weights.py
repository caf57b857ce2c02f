"""What floating point does to the equations of one gradient, and residuals in units of it.

Three things: rounding of the sums, alike in all directions of a row of the gradient; rounding of the errors d_k, along
the rows of the batch; and the basis of the rows, which comes from the same rounded gradient. Rows lie off it by c_k,
normal, of covariance (sum over units of d_k d_l / noise^2)^-1 between rows k and l in every entry. That moves what a
unit takes in by w c_k, and d_k with it, many times as far as d_k's own rounding; and the bias' entry 1 by as much.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.batch_equations import Equations, free_directions, residuals
from fedleak.attacks.networks.dense_top import Passed, activated
from fedleak.core.arrays import FloatArray

CARRIED = 8.0  # roundings that an error d_k has gathered on its way back
FAINT = 1e-16  # of the largest variance: the least that one is taken for


class EvenWeights:
    """Of all units alike: enough to come near. The entry of the bias is 1, and rows are in the basis."""

    unity: FloatArray | None = None

    def __init__(self, equations: Equations, mixes: FloatArray, labels: FloatArray, times: float) -> None:
        """``times`` the rounding."""
        self.free = free_directions(equations)[0]
        at, n_rows = equations.through(mixes, labels), len(mixes)
        self._parts: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        for place, block in enumerate(equations.blocks):
            inputs = mixes if place == 0 else at.inputs[place]
            noise = equations.factors.noise if place == 0 else _rounding(at.errors[place], inputs, equations.epsilon)
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


class UnitWeights:
    """Of every unit by itself, with rows off the basis. A mix moves in all directions: ``unity``, (K, K), whitens by
    how much its entry for the bias is off 1."""

    def __init__(self, equations: Equations, mixes: FloatArray, labels: FloatArray) -> None:
        at, n_rows = equations.through(mixes, labels), len(mixes)
        self.off_basis = off_basis(equations, at.errors[0])
        self.free, self.unity = np.eye(n_rows), self._unity(equations)
        values, vectors = np.linalg.eigh(self._covariances(equations, at, mixes))
        least = (equations.factors.noise**2)[:, None]
        self._first = np.swapaxes(vectors, 1, 2) / np.sqrt(np.maximum(values, least))[:, :, None]
        seen = residuals(equations, at, mixes)
        self._later = [_later(equations, at, place, seen[place]) for place in range(1, len(equations.blocks))]

    def _unity(self, equations: Equations) -> FloatArray | None:
        if equations.ones is None:
            return None
        outside = max(1 - float(equations.ones @ equations.ones), equations.epsilon)
        values, vectors = np.linalg.eigh(self.off_basis * outside)
        return np.asarray(vectors.T / np.sqrt(np.maximum(values, FAINT * values[-1]))[:, None])

    def _covariances(self, equations: Equations, at: Passed, mixes: FloatArray) -> FloatArray:
        """(units, K, K): of each unit's equations."""
        n_rows, noise = len(mixes), equations.factors.noise
        whole, folded = equations.whole, equations.folded
        outside = np.maximum((whole**2).sum(axis=1) - (folded**2).sum(axis=1), 0.0)  # squared length of w off the basis
        turned = np.sqrt(outside) * _bends(equations, at) / n_rows
        rounded = CARRIED * equations.epsilon * at.errors[0] / n_rows
        moved = np.einsum("kj,kl,lj->jkl", turned, self.off_basis, turned)
        moved += np.einsum("kj,kl->jkl", rounded**2, np.eye(n_rows))
        return np.asarray(mixes.T @ moved @ mixes + (noise**2)[:, None, None] * np.eye(n_rows))

    def of(self, place: int, residual: FloatArray) -> FloatArray:
        if place == 0:
            return np.asarray((self._first @ residual[..., None])[..., 0])
        noise, right, along = self._later[place - 1]
        scaled = residual / noise[:, None]
        turned = (right @ scaled[..., None])[..., 0] * along
        return np.asarray(scaled + (turned[..., None, :] @ right)[..., 0, :])


def off_basis(equations: Equations, errors: FloatArray) -> FloatArray:
    """(K, K): covariance between rows, of every entry, of what lies off the basis."""
    scaled = errors / equations.factors.noise / len(errors)
    return np.asarray(np.linalg.pinv(scaled @ scaled.T, hermitian=True))


def _bends(equations: Equations, at: Passed) -> FloatArray:
    """(K, units): by how much d_k moves with what the unit takes in; what scores move by it is left out."""
    if len(equations.blocks) == 1:
        return np.zeros_like(at.errors[0])
    bend = activated(equations.top.activations[0], at.outputs[0])[2]
    return np.asarray(at.errors[1] @ equations.top.layers[1].weight * bend)


def _later(equations: Equations, at: Passed, place: int, seen: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of a later layer: noise of every unit, and along the rows of the batch what rounding of errors takes off. Noise
    is what the residual shows where that is more than rounding of the sums."""
    errors, inputs = at.errors[place], at.inputs[place]
    noise = np.maximum(_rounding(errors, inputs, equations.epsilon), _off_mean(seen, inputs))
    carried = CARRIED * equations.epsilon * errors.T / noise[:, None] / len(errors)
    _, sizes, right = np.linalg.svd(carried[:, :, None] * inputs, full_matrices=False)
    return noise, right, 1 / np.sqrt(1 + sizes**2) - 1


def _rounding(errors: FloatArray, inputs: FloatArray, epsilon: float) -> FloatArray:
    """What summing K products in floating point adds to each row of a later layer's gradient."""
    size = np.sqrt((errors**2).mean(axis=0)) * np.sqrt((inputs**2).mean() / len(errors))
    return np.asarray(epsilon * np.maximum(size, 1e-3 * size.max()))


def _off_mean(residual: FloatArray, inputs: FloatArray) -> FloatArray:
    """Of each row of a residual, its size off the direction that all rows of the batch share."""
    mean = inputs.mean(axis=0)
    mean /= np.linalg.norm(mean)
    return np.asarray(np.sqrt(((residual - np.outer(residual @ mean, mean)) ** 2).mean(axis=1)))
