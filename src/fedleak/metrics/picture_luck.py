"""Whether a picture is named too precisely for luck: a single one too, where there are no rows to shuffle.

A picture's coarse cosine coefficients hardly go together, and their signs are anybody's guess: who knows nothing of the
picture comes near to each of them by its own luck.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import SecretKind, Symmetry
from fedleak.core.arrays import FloatArray, flat_rows
from fedleak.metrics.metric import Answered

COARSE = 4  # frequencies along each side; without the mean, 15 coefficients
LARGEST_SHARE = 0.75  # of the way to the best blind answer: from there on nearness is no news


def are_pictures(answered: Answered) -> bool:
    return answered.guess.secret.kind is SecretKind.IMAGES and answered.truth.values.ndim in (3, 4)


def pictures_by_luck(answered: Answered) -> float:
    """How likely the best named of all pictures comes so near by luck, whichever it is."""
    true = _coefficients(answered.truth.values)
    shape = answered.truth.values.shape
    blinds = [np.broadcast_to(one.cells, flat_rows(answered.truth.values).shape) for one in answered.blinds]
    off = np.min([np.abs(_coefficients(one.reshape(shape)) - true) for one in blinds], axis=0)
    chances = [_of_best(_coefficients(answer), true, off, answered) for answer in answered.answers]
    return float(np.mean(chances))


def _of_best(guess: FloatArray, true: FloatArray, off: FloatArray, answered: Answered) -> float:
    """Bonferroni over the pictures that were told, and over those that each may have been matched to."""
    told = np.isfinite(guess).all(axis=1) & flat_rows(answered.unknown).all(axis=1)
    if not told.any():
        return 1.0
    matched = len(true) if Symmetry.ROW_ORDER in answered.up_to else 1
    return min(1.0, int(told.sum()) * matched * float(_together(guess[told], true[told], off[told]).min()))


def _together(guess: FloatArray, true: FloatArray, off: FloatArray) -> FloatArray:
    """Of each picture, Fisher's combination of how likely each coefficient is so near: artanh of the share of the way,
    the bound of ``learnt_means.chance_as_near``."""
    from scipy.special import gammaincc

    share = np.abs(guess - true) / np.where(off > 0, off, np.inf)
    share = np.where((off > 0) & (share < LARGEST_SHARE), share, LARGEST_SHARE)
    chance = np.minimum(np.arctanh(np.maximum(share, 1e-12)), 1.0)
    chance = np.where(share >= LARGEST_SHARE, 1.0, chance)
    return np.asarray(gammaincc(chance.shape[1], -np.log(chance).sum(axis=1)))


def _coefficients(pictures: FloatArray) -> FloatArray:
    """(pictures, coefficients): of the mean over channels, the coarse ones without the mean."""
    from scipy.fft import dctn

    light = pictures if pictures.ndim == 3 else pictures.mean(axis=3)
    coarse = dctn(light, axes=(1, 2), norm="ortho")[:, :COARSE, :COARSE]
    return np.asarray(coarse.reshape(len(coarse), -1)[:, 1:])
