"""Whether a picture is named too precisely for luck: a single one too, where there are no rows to shuffle.

A picture's coarse cosine coefficients hardly go together, and their signs are anybody's guess: who knows nothing of the
picture comes near to each of them by its own luck. Where pixels have few values, so have coefficients, and many
pictures share them: the same pixels in other places come as near, as often as they do.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import SecretKind, Symmetry
from fedleak.core.arrays import FloatArray, flat_rows
from fedleak.metrics.metric import Answered

COARSE = 4  # frequencies along each side; without the mean, 15 coefficients
N_MIXED = 400  # pictures of the same pixels in other places
CLOSE = 1e-9  # coefficients that differ by less are equal
LARGEST_SHARE = 0.75  # of the way to the best blind answer: from there on nearness is no news


def are_pictures(answered: Answered) -> bool:
    return answered.guess.secret.kind is SecretKind.IMAGES and answered.truth.values.ndim in (3, 4)


def pictures_by_luck(answered: Answered, rng: np.random.Generator) -> float:
    """How likely the best named of all pictures comes so near by luck, whichever it is."""
    pictures = answered.truth.values
    blinds = [np.broadcast_to(one.cells, flat_rows(pictures).shape) for one in answered.blinds]
    true = _coefficients(pictures)
    off = np.min([np.abs(_coefficients(one.reshape(pictures.shape)) - true) for one in blinds], axis=0)
    return float(np.mean([_of_best(answer, off, answered, rng) for answer in answered.answers]))


def _of_best(answer: FloatArray, off: FloatArray, answered: Answered, rng: np.random.Generator) -> float:
    """Bonferroni over the pictures that were told, and over those that each may have been matched to."""
    guess, true = _coefficients(answer), _coefficients(answered.truth.values)
    told = np.isfinite(guess).all(axis=1) & flat_rows(answered.unknown).all(axis=1)
    tries = int(told.sum()) * (len(true) if Symmetry.ROW_ORDER in answered.up_to else 1)
    chances = _chances(guess, true, off)
    least = 1.0
    for picture in np.flatnonzero(told & (tries * _together(chances) < 1.0)):
        mixed = _as_near_mixed(answered.truth.values[picture], guess[picture], rng)
        least = min(least, tries * float(_together(np.maximum(chances[picture], mixed)[None])[0]))
    return least


def _chances(guess: FloatArray, true: FloatArray, off: FloatArray) -> FloatArray:
    """How likely each coefficient is so near: artanh of the share of the way, the bound of
    ``learnt_means.chance_as_near``."""
    share = np.abs(guess - true) / np.where(off > 0, off, np.inf)
    share = np.where((off > 0) & (share < LARGEST_SHARE), share, LARGEST_SHARE)
    chance = np.minimum(np.arctanh(np.maximum(share, 1e-12)), 1.0)
    return np.where(share >= LARGEST_SHARE, 1.0, chance)


def _together(chances: FloatArray) -> FloatArray:
    """Fisher's combination of all coefficients of each picture."""
    from scipy.special import gammaincc

    return np.asarray(gammaincc(chances.shape[1], -np.log(chances).sum(axis=1)))


def _as_near_mixed(picture: FloatArray, guess: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Of each coefficient, the share of pictures with the same pixels in other places that come as near."""
    light = _light(picture[None])[0]
    mixed = rng.permuted(np.tile(light.ravel(), (N_MIXED, 1)), axis=1).reshape(N_MIXED, *light.shape)
    true = _coefficients(light[None])[0]
    as_near = np.abs(_coefficients(mixed) - true) <= np.abs(guess - true) + CLOSE * np.abs(light).max(initial=0.0)
    return np.asarray((1 + as_near.sum(axis=0)) / (1 + N_MIXED))


def _light(pictures: FloatArray) -> FloatArray:
    """The mean over channels."""
    return pictures if pictures.ndim == 3 else np.asarray(pictures.mean(axis=3))


def _coefficients(pictures: FloatArray) -> FloatArray:
    """(pictures, coefficients): the coarse ones without the mean."""
    from scipy.fft import dctn

    coarse = dctn(_light(pictures), axes=(1, 2), norm="ortho")[:, :COARSE, :COARSE]
    return np.asarray(coarse.reshape(len(coarse), -1)[:, 1:])
