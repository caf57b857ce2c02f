"""Rows of a large batch of pictures, nearly: independent components of what the gradient of one layer shows.

The gradient gives the span of the rows and no more; which vectors of it are pictures is taken to be what independent
component analysis finds (Cocktail Party, Kariyappa et al. 2022, arXiv 2209.05578, there on pixels, with priors and
gradient steps). Pixels of different pictures are hardly independent; differences of neighbouring pixels are far more
so, and have long tails, so that they are separated here, by fixed points (FastICA, Hyvarinen 1999).
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.networks.layer_factors import LayerFactors
from fedleak.core.arrays import FloatArray
from fedleak.models.layers import Shape

SHARP = 3.0  # of the contrast log cosh(SHARP y): 1 is for shorter tails than pictures have
STEPS = 200
SETTLED = 1e-4  # 1 - cosine of a direction before and after a step
VISIBLE = 1e-12  # of the largest variance: a direction without differences is no picture's
BLANK = 1e-6  # of a row's length: a last entry so small fixes no factor


def component_mixes(factors: LayerFactors, shape: Shape, among: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(components, K): mixes of the rows [h, 1]. ``among``: (directions, K), a basis of the mixes that they may be
    sums of. Components without differences, or without a last entry to scale them by, are left out."""
    signals = among @ _differences(factors.basis[:-1].T, shape)
    sizes, turned = np.linalg.eigh(signals @ signals.T)
    shown = sizes > VISIBLE * sizes.max(initial=0.0)
    white = (turned[:, shown] * np.sqrt(signals.shape[1] / sizes[shown])).T
    mixes = _separating(white @ signals, rng) @ white @ among
    last = mixes @ factors.basis[-1]
    kept = np.abs(last) > BLANK * np.linalg.norm(mixes, axis=1)
    return np.asarray(mixes[kept] / last[kept, None])


def _differences(rows: FloatArray, shape: Shape) -> FloatArray:
    """Of neighbours, across and down, of all channels; where no row has any, nothing is kept."""
    pictures = rows.reshape(len(rows), *shape)
    parts = [np.diff(pictures, axis=axis).reshape(len(rows), -1) for axis in (2, 3)]
    found = np.concatenate(parts, axis=1)
    found = found[:, np.any(found != 0, axis=0)]
    return np.asarray(found - found.mean(axis=1, keepdims=True))


def _separating(white: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Orthogonal directions of white signals along which they are the least Gaussian, all at once."""
    found = _orthogonal(rng.standard_normal((len(white), len(white))))
    for _ in range(STEPS):
        bent = np.tanh(SHARP * (found @ white))
        slopes = SHARP * (1 - bent**2).mean(axis=1)
        last, found = found, _orthogonal(bent @ white.T / white.shape[1] - slopes[:, None] * found)
        if np.abs(np.abs((found * last).sum(axis=1)) - 1).max() < SETTLED:
            break
    return found


def _orthogonal(directions: FloatArray) -> FloatArray:
    """The nearest to them (Hyvarinen's symmetric decorrelation)."""
    left, _, right = np.linalg.svd(directions)
    return np.asarray(left @ right)
