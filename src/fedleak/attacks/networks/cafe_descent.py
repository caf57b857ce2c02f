"""Steps I and II as printed (Jin et al. 2021, algorithms 1 and 2): stochastic gradient descent, one batch a step.

Constants are those of the code beside the paper; gradients are of the mean loss of a batch, as they are sent there.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fedleak.attacks.networks.batch_indicators import Batches
from fedleak.attacks.networks.layer_gradients import LayerGradient
from fedleak.core.arrays import FloatArray

FIRST_GRADIENTS = 8e-4  # V ~ U(-8e-4, 8e-4)
FIRST_INPUTS = 0.08  # H ~ U(0, 0.08)
RATE = 5e-3


class RowGradients:
    """Algorithm 1: V, by a step for each batch; ``rate`` None: the largest stable one."""

    def __init__(self, batches: Batches, width: int, rng: np.random.Generator, rate: float | None = RATE) -> None:
        self._batches, self._rate = batches, rate
        self._mean = rng.uniform(-FIRST_GRADIENTS, FIRST_GRADIENTS, (len(batches.ids), width)).astype(np.float32)

    def step(self, batch: int, gradient: LayerGradient) -> None:
        held, size = self._batches.rows(batch), float(self._batches.sizes[batch])
        counts = self._batches.counts[batch, held].astype(np.float32)
        # grad of |V^T s - b|^2 (eq. 7) by the rows of the batch
        left = counts @ self._mean[held] - (gradient.bias / size).astype(np.float32)
        rate = 0.5 / float(counts @ counts) if self._rate is None else self._rate
        self._mean[held] -= np.float32(2 * rate) * np.outer(counts, left)

    @property
    def values(self) -> FloatArray:
        """Of the batch's sum, as ``LayerGradient`` has it."""
        return self._mean.astype(np.float64) * float(self._batches.sizes[0])


class RowInputs:
    """Algorithm 2: H. The printed step of 5e-3 hardly moves where v_n are small, so that a step is the largest stable
    one: one over twice the largest eigenvalue of the batch's V V^T."""

    def __init__(self, batches: Batches, width: int, rng: np.random.Generator) -> None:
        self._batches = batches
        self.values = rng.uniform(0, FIRST_INPUTS, (len(batches.ids), width)).astype(np.float32)

    def step(self, batch: int, gradient: LayerGradient, own: FloatArray) -> None:
        held, size = self._batches.rows(batch), float(self._batches.sizes[batch])
        counts = self._batches.counts[batch, held, None].astype(np.float32)
        mine = counts * (own[held] / float(self._batches.sizes[0])).astype(np.float32)
        # grad of |sum s_n v_n h_n^T - G|_F^2 (eq. 8) by the rows of the batch
        left = mine.T @ self.values[held] - (gradient.weight / size).astype(np.float32)
        largest = float(np.linalg.eigvalsh(mine @ mine.T)[-1])
        self.values[held] -= np.float32(1.0 / max(largest, 1e-30)) * (mine @ left)


def descended_gradients(batches: Batches, stream: Iterable[LayerGradient], rng: np.random.Generator) -> FloatArray:
    """A step for each batch of the stream; batches recur in their order."""
    descent: RowGradients | None = None
    for number, gradient in enumerate(stream):
        descent = descent or RowGradients(batches, len(gradient.bias), rng)
        descent.step(number % len(batches.counts), gradient)
    return np.zeros((0, 0)) if descent is None else descent.values


def descended_inputs(
    batches: Batches, stream: Iterable[LayerGradient], own: FloatArray, rng: np.random.Generator
) -> FloatArray:
    descent: RowInputs | None = None
    for number, gradient in enumerate(stream):
        descent = descent or RowInputs(batches, gradient.weight.shape[1], rng)
        descent.step(number % len(batches.counts), gradient, own)
    return np.zeros((0, 0)) if descent is None else descent.values.astype(np.float64)
