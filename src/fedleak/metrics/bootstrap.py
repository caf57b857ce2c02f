"""95 % intervals of a mean, or of a ratio of sums, by the percentile bootstrap over rows."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray

N_RESAMPLES = 1000
MAX_UNITS = 2000  # more rows than this are resampled in blocks, which keeps the cost bounded


def mean_interval(rows: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Interval of the mean of one figure a row; rows, not cells, are the independent units."""
    return ratio_interval(rows, np.ones(len(rows)), rng)


def ratio_interval(parts: FloatArray, wholes: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
    """Interval of sum(parts) / sum(wholes), with a part and a whole (above 0) for each row."""
    if len(parts) == 0:
        raise ValueError("an interval needs at least one row")
    units, sizes = parts, wholes
    if len(parts) > MAX_UNITS:
        blocks = np.array_split(rng.permutation(len(parts)), MAX_UNITS)
        units = np.array([parts[block].sum() for block in blocks])
        sizes = np.array([wholes[block].sum() for block in blocks])
    picks = rng.integers(len(units), size=(N_RESAMPLES, len(units)))
    means = units[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
