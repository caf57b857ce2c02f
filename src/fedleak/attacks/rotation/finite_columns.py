"""Columns with few possible values, found exactly.

A column of the victim is F r with a unit vector r. On n independent rows it takes one of finitely many patterns, each
of which determines r; nearly all of them have the wrong length, and of the rest nearly all leave the possible values
on some other row. What survives is a column of the victim, or of nobody: no known cell is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy.linalg import qr

from fedleak.core.arrays import FloatArray

MOST_PATTERNS = 3_000_000
CHUNK = 100_000


def unit_combinations(factor: FloatArray, values: FloatArray, tolerance: float) -> list[FloatArray] | None:
    """All unit vectors r for which F r takes these values only; None if there are too many patterns to try."""
    width = factor.shape[1]
    if len(values) ** width > MOST_PATTERNS:
        return None
    _, _, pivots = qr(factor.T, mode="economic", pivoting=True)
    chosen = pivots[:width]
    inverse = np.linalg.inv(factor[chosen])
    slack = tolerance * float(np.linalg.norm(inverse, 2)) * np.sqrt(width)
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
