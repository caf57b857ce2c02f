"""Independent columns show by themselves: the rotation whose columns are least Gaussian.

Independent component analysis (Hyvarinen 1999) with one difference: it is known here that the columns are an orthogonal
image of the factor's, whatever their variances, so the search is over rotations, plane by plane, without whitening.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fedleak.core.arrays import FloatArray

N_ANGLES = 90
MAX_SWEEPS = 20
GAUSSIAN_LOGCOSH = 0.374567  # mean of log cosh of a standard normal
MOST_CORRELATED = 4.0  # in units of 1 / sqrt(rows): what independent columns show by chance


def independent_rotation(factor: FloatArray, start: FloatArray) -> FloatArray | None:
    """The rotation, or None where its columns are correlated: then the victim's are not independent."""
    centred = factor - factor.mean(axis=0)
    rotation = start
    for _ in range(MAX_SWEEPS):
        before = float(_contrast(centred @ rotation).sum())
        for p, q in combinations(range(factor.shape[1]), 2):
            rotation = _best_in_plane(centred, rotation, p, q)
        if float(_contrast(centred @ rotation).sum()) - before < 1e-9:
            break
    columns = centred @ rotation
    spread = columns.std(axis=0)
    if not (spread > 0).all():
        return None
    correlation = np.corrcoef(columns.T) - np.eye(len(spread))
    return rotation if float(np.abs(correlation).max()) <= MOST_CORRELATED / np.sqrt(len(factor)) else None


def contrast_of(factor: FloatArray, rotation: FloatArray) -> float:
    return float(_contrast((factor - factor.mean(axis=0)) @ rotation).sum())


def _contrast(columns: FloatArray) -> FloatArray:
    """Squared distance from a Gaussian's log cosh, a column each (the negentropy approximation)."""
    scale = columns.std(axis=0)
    standard = np.abs(columns / np.where(scale > 0, scale, 1.0))
    logcosh = standard + np.log1p(np.exp(-2 * standard)) - np.log(2.0)
    return np.asarray((logcosh.mean(axis=0) - GAUSSIAN_LOGCOSH) ** 2)


def _best_in_plane(centred: FloatArray, rotation: FloatArray, p: int, q: int) -> FloatArray:
    """Turn columns p and q by the angle that makes the pair least Gaussian; a quarter turn only renames them."""
    first, second = centred @ rotation[:, p], centred @ rotation[:, q]
    angles = np.linspace(0.0, np.pi / 2, N_ANGLES, endpoint=False)
    for _ in range(3):  # a grid, and twice a finer one around its best angle
        cos, sin = np.cos(angles), np.sin(angles)
        one = first[:, None] * cos + second[:, None] * sin
        two = second[:, None] * cos - first[:, None] * sin
        best = angles[int(np.argmax(_contrast(one) + _contrast(two)))]
        step = angles[1] - angles[0]
        angles = np.linspace(best - step, best + step, N_ANGLES)
    turned = rotation.copy()
    turned[:, p] = np.cos(best) * rotation[:, p] + np.sin(best) * rotation[:, q]
    turned[:, q] = np.cos(best) * rotation[:, q] - np.sin(best) * rotation[:, p]
    return turned
