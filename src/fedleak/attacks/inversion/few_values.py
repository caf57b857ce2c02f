"""Columns with few possible values, of a table that is known up to a rotation: found by trying their patterns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from fedleak.core.arrays import FloatArray

MOST_PATTERNS = 3_000_000
CHUNK = 100_000
COARSE = 0.01  # an error of a unit vector
DEPENDENT = 1e-7  # rows that are this close to each other's span, relative to the largest, are not independent


def unit_combinations(factor: FloatArray, values: FloatArray, tolerance: float) -> list[FloatArray] | None:
    """All unit vectors r for which F r takes these values only.

    None if there are too many patterns to try, or if rows are so few, dependent or coarse that a pattern does not
    determine r: the length of r, by which wrong patterns are told, would be lost in its error.
    """
    from scipy.linalg import qr

    width = factor.shape[1]
    if len(values) ** width > MOST_PATTERNS or len(factor) < width:
        return None
    _, triangle, pivots = qr(factor.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    if sizes.min() <= max(DEPENDENT * sizes.max(), tolerance):
        return None
    chosen = pivots[:width]
    inverse = np.linalg.inv(factor[chosen])
    slack = tolerance * float(np.linalg.norm(inverse, 2)) * np.sqrt(width)
    if slack > COARSE:
        return None
    found: list[FloatArray] = []
    for patterns in _patterns(values, width):
        candidates = patterns @ inverse.T
        right_length = np.abs(np.linalg.norm(candidates, axis=1) - 1.0) <= 3 * slack + 1e-9
        found.extend(r for r in candidates[right_length] if _fits(factor @ r, values, 30 * (tolerance + slack)))
    return [r / np.linalg.norm(r) for r in found]


def _patterns(values: FloatArray, width: int) -> Iterator[FloatArray]:
    """All tuples of values, in chunks."""
    n_inner = max(1, min(width, int(np.log(CHUNK) / np.log(max(len(values), 2)))))
    inner = np.array(list(product(values, repeat=n_inner)))
    for outer in product(values, repeat=width - n_inner):
        yield np.hstack([np.broadcast_to(np.array(outer, dtype=np.float64), (len(inner), len(outer))), inner])


def _fits(column: FloatArray, values: FloatArray, slack: float) -> bool:
    return bool((np.abs(column[:, None] - values[None, :]).min(axis=1) <= slack + 1e-9).all())
