"""First guesses of the rotation: from a public sample's moments, from independence, or at random.

Independent columns show by themselves: theirs is the rotation whose columns are least Gaussian. This is independent
component analysis (Hyvarinen 1999) with one difference: it is known here that the columns are an orthogonal image of
the factor's, whatever their variances, so the search is over rotations, plane by plane, without whitening.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fedleak.attacks.inversion.rotation_problem import Anchor
from fedleak.core.arrays import FloatArray

N_INDEPENDENT = 6
N_FLIPS = 5  # the signs that the moments decide least are tried both ways


def moment_starts(
    factor: FloatArray, sample: FloatArray, source: FloatArray | None, anchor: Anchor | None
) -> list[FloatArray]:
    """Principal axes of the factor onto those of the sample. Signs: by the weights, the means, the skewness."""
    own_axes, own = _axes(factor)
    their_axes, theirs = _axes(sample)
    evidence = _signs(own, theirs)
    if source is not None and anchor is not None:
        size = float(anchor.weights @ anchor.weights)
        evidence = evidence + 3 * (own_axes.T @ source) * (their_axes.T @ anchor.weights) / size * len(source)
    signs = np.where(evidence >= 0, 1.0, -1.0)
    doubtful = np.argsort(np.abs(evidence))[:N_FLIPS]
    starts = []
    for count in range(len(doubtful) + 1):
        for flipped in combinations(doubtful, count):
            turned = signs.copy()
            turned[list(flipped)] *= -1
            starts.append((own_axes * turned) @ their_axes.T)
    return starts


def independent_start(factor: FloatArray, rng: np.random.Generator) -> FloatArray | None:
    """The least Gaussian of several rotations, or None where none has uncorrelated columns."""
    width = factor.shape[1]
    found = [independent_rotation(factor, random_start(width, rng)) for _ in range(N_INDEPENDENT)]
    kept = [rotation for rotation in found if rotation is not None]
    return max(kept, key=lambda rotation: contrast_of(factor, rotation), default=None)


def named_components(start: FloatArray, source: FloatArray, anchor: Anchor) -> FloatArray:
    """Order and signs of components by the stolen weights: r_j . u = W_j for the column j."""
    from scipy.optimize import linear_sum_assignment

    shares = start.T @ source
    distance = np.abs(np.abs(shares)[:, None] - np.abs(anchor.weights)[None, :])
    components, columns = linear_sum_assignment(distance)
    named = np.empty_like(start)
    for component, column in zip(components, columns, strict=True):
        sign = 1.0 if shares[component] * anchor.weights[column] >= 0 else -1.0
        named[:, column] = sign * start[:, component]
    return named


def random_start(width: int, rng: np.random.Generator) -> FloatArray:
    basis, triangle = np.linalg.qr(rng.standard_normal((width, width)))
    return np.asarray(basis * np.sign(np.diag(triangle)))


def _axes(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Principal axes of the second moments, strongest first, and the rows along them."""
    _, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    axes = axes[:, ::-1]
    return axes, rows @ axes


def _signs(own: FloatArray, theirs: FloatArray) -> FloatArray:
    """Evidence that an axis points the same way on both sides: first and third moments, in standard units."""
    scale = np.sqrt(np.mean(own**2, axis=0)) + 1e-300
    other = np.sqrt(np.mean(theirs**2, axis=0)) + 1e-300
    means = np.mean(own, axis=0) / scale * (np.mean(theirs, axis=0) / other)
    skews = np.mean((own / scale) ** 3, axis=0) * np.mean((theirs / other) ** 3, axis=0)
    return np.asarray(means + 0.2 * skews)


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
