"""Intervals that provably contain each unknown, from equations and the unit box.

Each equation m . x = r bounds every unknown that it touches by what the others can contribute. Some sweeps over the
equations, in two bases of the same solutions, tighten the box. The bounds are valid, and for a single equation exact;
for several they may be wider than the best possible, which would need a linear program for each cell.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.models.inversion.equations import Equations

N_SWEEPS = 2
CHUNK = 4096  # rows at a time: the working set stays in the cache
TOUCHED = 1e-9  # a smaller coefficient bounds nothing that the box does not
SLACK = 1e-9  # room for rounding errors of the sweeps, so that the truth stays inside


def cell_intervals(equations: Equations) -> FloatArray:
    """(rows, unknowns, 2)."""
    bases = _bases(equations.matrix)
    chunks = [
        _intervals_of(equations, slice(start, start + CHUNK), bases) for start in range(0, len(equations.rows), CHUNK)
    ]
    return np.concatenate(chunks) if chunks else np.empty((0, equations.matrix.shape[1], 2))


def _intervals_of(equations: Equations, rows: slice, bases: list[FloatArray]) -> FloatArray:
    width = equations.matrix.shape[1]
    right, off = equations.right[rows], equations.off[rows]
    low, high = np.zeros((len(right), width)), np.ones((len(right), width))
    # One equation alone is exact after one sweep; several tighten one another.
    for basis in bases * (1 if equations.rank < 2 else N_SWEEPS):
        spread = off @ np.abs(basis).T
        for row, value, slack in zip(basis @ equations.matrix, (right @ basis.T).T, spread.T, strict=True):
            _tighten(low, high, row, value, slack + SLACK)
    crossed = low > high
    middle = (low + high) / 2
    return np.stack([np.where(crossed, middle, low), np.where(crossed, middle, high)], axis=2)


def _bases(matrix: FloatArray) -> list[FloatArray]:
    """The equations as they are, and solved for the unknowns that they determine best (fewer unknowns in each)."""
    rank = len(matrix)
    if rank < 2:
        return [np.eye(rank)]
    from scipy.linalg import qr

    _, _, pivots = qr(matrix, mode="economic", pivoting=True)
    chosen = matrix[:, pivots[:rank]]
    return [np.eye(rank), np.asarray(np.linalg.inv(chosen), dtype=np.float64)]


def _tighten(low: FloatArray, high: FloatArray, row: FloatArray, value: FloatArray, slack: FloatArray) -> None:
    """All unknowns of one equation at once, each bounded by what the others can contribute."""
    touched = np.flatnonzero(np.abs(row) > TOUCHED * np.abs(row).max(initial=0.0))
    coefficient = row[touched]
    at_low, at_high = coefficient * low[:, touched], coefficient * high[:, touched]
    least, most = np.minimum(at_low, at_high), np.maximum(at_low, at_high)
    # An unknown lies between (value - the most that the others give) and (value - the least), over its coefficient.
    smallest = (value - slack - most.sum(axis=1))[:, None] + most
    largest = (value + slack - least.sum(axis=1))[:, None] + least
    smallest /= coefficient
    largest /= coefficient
    low[:, touched] = np.maximum(low[:, touched], np.minimum(smallest, largest))
    high[:, touched] = np.minimum(high[:, touched], np.maximum(smallest, largest))
