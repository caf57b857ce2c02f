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


def descended_gradients(
    batches: Batches, stream: Iterable[LayerGradient], rng: np.random.Generator, *, rate: float = RATE
) -> FloatArray:
    """Algorithm 1: V, of the batch's sum as ``LayerGradient`` has it; a step for each batch of the stream."""
    width = 0
    found = np.zeros((0, 0), dtype=np.float32)
    for number, gradient in enumerate(stream):
        if not width:
            width = len(gradient.bias)
            found = rng.uniform(-FIRST_GRADIENTS, FIRST_GRADIENTS, (len(batches.ids), width)).astype(np.float32)
        batch = number % len(batches.counts)
        held, size = batches.rows(batch), float(batches.sizes[batch])
        counts = batches.counts[batch, held].astype(np.float32)
        # grad of |V^T s - b|^2 (eq. 7) by the rows of the batch
        left = counts @ found[held] - (gradient.bias / size).astype(np.float32)
        found[held] -= np.float32(2 * rate) * np.outer(counts, left)
    return found.astype(np.float64) * float(batches.sizes[0])


def descended_inputs(
    batches: Batches, stream: Iterable[LayerGradient], own: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Algorithm 2: H. The printed step of 5e-3 hardly moves where v_n are small, so that a step is the largest stable
    one: one over twice the largest eigenvalue of the batch's V V^T."""
    found = np.zeros((0, 0), dtype=np.float32)
    mean_own = (own / float(batches.sizes[0])).astype(np.float32)
    for number, gradient in enumerate(stream):
        if not found.size:
            found = rng.uniform(0, FIRST_INPUTS, (len(batches.ids), gradient.weight.shape[1])).astype(np.float32)
        batch = number % len(batches.counts)
        held, size = batches.rows(batch), float(batches.sizes[batch])
        mine = batches.counts[batch, held, None].astype(np.float32) * mean_own[held]
        # grad of |sum s_n v_n h_n^T - G|_F^2 (eq. 8) by the rows of the batch
        left = mine.T @ found[held] - (gradient.weight / size).astype(np.float32)
        largest = float(np.linalg.eigvalsh(mine @ mine.T)[-1])
        found[held] -= np.float32(1.0 / max(largest, 1e-30)) * (mine @ left)
    return found.astype(np.float64)
