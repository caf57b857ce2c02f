"""How likely each of several solutions of a row is, learnt from all rows together.

A column's values have a distribution, which is the same in every row; wrong solutions scatter. Expectation maximisation
over the columns' histograms, which start as the histogram of all of the adversary's own columns.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray

N_BINS = 32
N_ITERATIONS = 8  # few: a histogram that is driven on grows spikes
PRIOR_ROWS = 50.0  # the own columns' histogram counts as many rows


def solution_weights(rows: IntArray, points: FloatArray, own: FloatArray) -> FloatArray:
    """(solutions,), summing to one over each row; ``rows`` is ascending, all values are on the unit interval."""
    _, starts, owner = np.unique(rows, return_index=True, return_inverse=True)
    weights = np.ones(len(rows))
    if len(starts) == len(rows):
        return weights
    bins = _bins(points)
    prior = np.bincount(_bins(own).ravel(), minlength=N_BINS) + 1.0
    prior = PRIOR_ROWS * prior / prior.sum()
    share = np.broadcast_to(prior / PRIOR_ROWS, (points.shape[1], N_BINS))
    for _ in range(N_ITERATIONS):
        likelihood = sum(np.log(share[j])[bins[:, j]] for j in range(points.shape[1]))
        likelihood = np.exp(likelihood - np.maximum.reduceat(likelihood, starts)[owner])
        weights = likelihood / np.bincount(owner, likelihood)[owner]
        counts = np.stack([np.bincount(bins[:, j], weights, N_BINS) for j in range(points.shape[1])]) + prior
        share = counts / counts.sum(axis=1, keepdims=True)
    return weights


def _bins(values: FloatArray) -> IntArray:
    return np.clip((values * N_BINS).astype(np.int64), 0, N_BINS - 1)
