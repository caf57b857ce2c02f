"""95 % intervals of a mean by the percentile bootstrap over rows."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray

N_RESAMPLES = 1000
MAX_UNITS = 2000  # more rows than this are resampled in blocks, which keeps the cost bounded


def mean_interval(rows: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Interval of the mean of one figure a row; rows, not cells, are the independent units."""
    if len(rows) == 0:
        raise ValueError("an interval needs at least one row")
    units, sizes = rows, np.ones(len(rows))
    if len(rows) > MAX_UNITS:
        blocks = np.array_split(rng.permutation(rows), MAX_UNITS)
        units = np.array([block.sum() for block in blocks])
        sizes = np.array([float(len(block)) for block in blocks])
    picks = rng.integers(len(units), size=(N_RESAMPLES, len(units)))
    means = units[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
