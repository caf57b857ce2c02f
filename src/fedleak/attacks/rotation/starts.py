"""First guesses of the rotation: from a public sample's moments, from independence, or at random."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fedleak.attacks.inversion.problem import Anchor
from fedleak.attacks.rotation.independent import contrast_of, independent_rotation
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
