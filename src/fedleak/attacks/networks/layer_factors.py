"""The rank of a fully connected layer's gradient, and the space of the rows that went into it.

[dW | db] = 1/K sum of d_k [h_k, 1] over a batch of K rows (SPEAR, arXiv 2403.03945, section 3): its rank is K where the
d_k are independent and the rows [h_k, 1] are, so K <= min(inputs + 1, outputs). What a sum in floating point adds is
noise of full rank, of a size of its own in every row of the gradient; rows are weighted by it, so that a direction that
shows in quiet rows alone is seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, Value

QUIET, LOUD = 0.02, 4.0  # roundings of a row's size: its noise is no less, and of the gradient's size no more
DECOMPOSED = 2.0**-51  # of the gradient's size: what a decomposition in float64 adds itself
NEAR_NOISE = 64.0  # times the largest singular value that noise of this size has: it may be noise, which is not white
LEAST_NOISE = 0.1  # of the same: falls below it are falls inside the noise
FALL = 1.5  # of neighbouring singular values where the rank is read
ABOVE_NOISE = 3.0  # times the largest singular value of noise: it is none
REWEIGHTED = 2


@dataclass(frozen=True, eq=False)
class LayerFactors(Value):
    """gradient = mixed @ basis.T + noise; each row [h_k, 1] is ``q_k @ basis.T``, and mixed = 1/K sum of d_k q_k^T."""

    basis: FloatArray  # (inputs + 1, K), orthonormal columns
    mixed: FloatArray  # (outputs, K)
    noise: FloatArray  # (outputs,): deviation of what rounding added, 1 where the row is zero throughout
    gap: float  # the weakest direction kept, over the strongest that noise has

    @property
    def n_rows(self) -> int:
        return int(self.basis.shape[1])


def factors_of(gradient: FloatArray, epsilon: float, n_rows: int | None = None) -> LayerFactors | None:
    """``gradient`` is [dW | db]; ``epsilon`` the relative rounding of what was sent. None where no rank shows: every
    direction is above rounding, or none is. ``n_rows`` is the batch's size where it is known; the rank must agree."""
    alive = np.any(gradient != 0, axis=1)
    seen = gradient[alive]
    if not seen.size or min(seen.shape) < 2:
        return None
    noise = _noise(seen, _spectrum(seen)[1][:, : min(seen.shape) // 4], epsilon)
    for _ in range(REWEIGHTED):
        values, vectors = _spectrum(seen / noise[:, None])
        rank = _visible(values, seen.shape)
        if not rank:
            return None
        kept = vectors[:, :rank]
        noise = _noise(seen, kept, epsilon)
    if n_rows is not None and rank != n_rows:
        return None
    whole = np.ones(len(gradient))
    whole[alive] = noise
    return LayerFactors(kept, gradient @ kept, whole, float(values[rank - 1] / _edge(seen.shape)))


def _noise(seen: FloatArray, kept: FloatArray, epsilon: float) -> FloatArray:
    """Of each row of the gradient, from what lies outside of the directions kept, within what rounding can be."""
    left_over = seen - (seen @ kept) @ kept.T
    outside = np.sqrt((left_over**2).sum(axis=1) / max(1, seen.shape[1] - kept.shape[1]))
    own, all_rows = np.sqrt((seen**2).mean(axis=1)), np.sqrt((seen**2).mean())
    least = np.maximum(QUIET * epsilon * own, DECOMPOSED * all_rows)
    most = np.maximum(LOUD * epsilon * np.maximum(own, all_rows), least)
    return np.asarray(np.clip(outside, least, most))


def _spectrum(scaled: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Singular values, the largest first, and right singular vectors as columns."""
    if scaled.shape[0] <= scaled.shape[1]:
        _, values, right = np.linalg.svd(scaled, full_matrices=False)
        return values, right.T
    left, values, _ = np.linalg.svd(scaled.T, full_matrices=False)
    return values, left


def _visible(values: FloatArray, shape: tuple[int, ...]) -> int:
    """Where singular values fall most, on their way into the noise; 0 where they do not."""
    edge = _edge(shape)
    into = np.flatnonzero(values[1:] <= NEAR_NOISE * edge) + 1
    if not len(into):
        return 0
    falls = values[into - 1] / np.maximum(values[into], LEAST_NOISE * edge)
    rank = int(into[np.argmax(falls)])
    return rank if falls.max() >= FALL and values[rank - 1] > ABOVE_NOISE * edge else 0


def _edge(shape: tuple[int, ...]) -> float:
    """The largest singular value of white noise of deviation 1."""
    return float(np.sqrt(shape[0]) + np.sqrt(shape[1]))
