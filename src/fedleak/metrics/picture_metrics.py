"""How near guessed pictures are: squared error, peak signal-to-noise ratio, structural similarity, exact pixels.

A guess is cut to the range that pixels may have, as everybody would do who shows it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import FloatArray, flat_rows
from fedleak.core.finding import Better, Score
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.cell_metrics import SquaredError
from fedleak.metrics.metric import Answered, Metric, ShareMetric, mean_interval, ratio_interval

PICTURES = frozenset({SecretKind.IMAGES})
MOST_DECIBELS = 200.0  # JSON has no infinity: a squared error below 1e-20 counts as that
LEAST_ERROR = 10 ** (-MOST_DECIBELS / 10)
HALF_LEVEL = 0.5 / 255  # of the range: rounding to a byte gives the very pixel


class PictureError(SquaredError):
    """Decides about pictures: how much of what a blind answer leaves open was learnt."""

    name = "mse"
    summary = "mean squared error of pixels over their range squared; baseline: the best blind answer"
    applies_to = PICTURES

    def cell_scores(self, cells: FloatArray, truth: SecretValues) -> FloatArray:
        return super().cell_scores(_cut(cells, truth), truth)


class ExactPixels(ShareMetric):
    name = "exact-pixels"
    summary = "share of pixels that are right when rounded to a byte; baseline: the best blind answer"
    applies_to = PICTURES

    def cell_scores(self, cells: FloatArray, truth: SecretValues) -> FloatArray:
        margin = HALF_LEVEL * (truth.highest - truth.lowest)
        return np.asarray(np.abs(_cut(cells, truth) - truth.values) <= margin, dtype=np.float64)


class _OfErrors(Metric):
    """A figure of pictures' squared errors: row by row, those of the guess and of the baseline, and how many cells."""

    better = Better.HIGHER
    applies_to = PICTURES

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        errors, unknown = PictureError(), flat_rows(answered.unknown)
        rows = unknown.any(axis=1)
        if not rows.any():
            return None
        blind = errors.blind_cells(answered)
        guess, baseline = errors.scores_of(answered, blind), errors.baseline_scores(answered, blind)
        sums = [np.where(unknown, flat_rows(cells), 0.0)[rows].sum(axis=1) for cells in (guess, baseline)]
        return self.of_sums(sums[0], sums[1], unknown[rows].sum(axis=1), rng)

    def of_sums(self, guess: FloatArray, baseline: FloatArray, counts: FloatArray, rng: np.random.Generator) -> Score:
        raise NotImplementedError


class PooledPsnr(_OfErrors):
    """Of the mean squared error over all pictures, as papers report it for a whole set."""

    name = "psnr"
    summary = "peak signal-to-noise ratio in dB over all pictures, at most 200; baseline: the best blind answer"

    def of_sums(self, guess: FloatArray, baseline: FloatArray, counts: FloatArray, rng: np.random.Generator) -> Score:
        value, blind = decibels(guess.sum() / counts.sum()), decibels(baseline.sum() / counts.sum())
        low, high = ratio_interval(guess, counts, rng)
        least = LEAST_ERROR * counts
        ratios = ratio_interval(np.maximum(baseline, least), np.maximum(guess, least), rng)
        gain_low, gain_high = (float(10 * np.log10(ratio)) for ratio in ratios)
        interval = (float(decibels(high)), float(decibels(low)))
        n_cells = int(counts.sum())
        return Score(self.name, float(value), float(blind), self.better, interval, n_cells, (gain_low, gain_high))


class PsnrOfEach(_OfErrors):
    """One perfect picture does not hide the others' errors, nor the other way round."""

    name = "psnr-each"
    summary = "mean over pictures of each one's peak signal-to-noise ratio in dB, at most 200; baseline: best blind"

    def of_sums(self, guess: FloatArray, baseline: FloatArray, counts: FloatArray, rng: np.random.Generator) -> Score:
        return _over_rows(self, decibels(guess / counts), decibels(baseline / counts), int(counts.sum()), rng)


def decibels(squared_error: FloatArray | float) -> FloatArray:
    """Of errors that are shares of the range squared; at most 200."""
    return np.asarray(-10 * np.log10(np.maximum(squared_error, LEAST_ERROR)))


WINDOW, DEVIATION = 11, 1.5  # of the weights (Wang et al. 2004, section III.B)
STABLE = (0.01**2, 0.03**2)


class StructuralSimilarity(Metric):
    """Wang et al. 2004, eq. 13, by channel; of pictures smaller than the window, one as large as they are."""

    name = "ssim"
    summary = "structural similarity of pictures, 1 is the same; baseline: the best blind answer"
    better = Better.HIGHER
    applies_to = PICTURES

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        truth = answered.truth
        if truth.values.ndim not in (3, 4) or not answered.unknown.any():
            return None
        errors = PictureError()
        blind = errors.blind_cells(answered)
        found = [_similar(np.where(np.isnan(one), blind, one), truth) for one in answered.answers]
        value = np.mean(found, axis=0)
        baseline = max(self._blind_rows(answered, blind), key=lambda rows: float(rows.mean()))
        return _over_rows(self, value, baseline, int(answered.unknown.sum()), rng)

    def _blind_rows(self, answered: Answered, best: FloatArray) -> Iterator[FloatArray]:
        truth = answered.truth
        yield _similar(best, truth)
        for blind in answered.blinds:
            yield _similar(np.broadcast_to(blind.cells, flat_rows(best).shape).reshape(best.shape), truth)
        nulls = [_similar(np.where(np.isnan(one), best, one), truth) for one in answered.null_tables]
        if nulls:
            yield np.mean(nulls, axis=0)


def _over_rows(
    metric: Metric, value: FloatArray, baseline: FloatArray, n_cells: int, rng: np.random.Generator
) -> Score:
    """The mean of one figure a picture, and of its gain."""
    interval, gain = mean_interval(value, rng), mean_interval(value - baseline, rng)
    return Score(metric.name, float(value.mean()), float(baseline.mean()), metric.better, interval, n_cells, gain)


def _cut(cells: FloatArray, truth: SecretValues) -> FloatArray:
    return np.clip(cells, truth.lowest, truth.highest)


def _similar(cells: FloatArray, truth: SecretValues) -> FloatArray:
    """Of each picture, the mean over places and channels."""
    spread = float((truth.highest - truth.lowest).max())
    scale = spread if spread > 0 else 1.0
    first, second = (_channels_last((one - truth.lowest) / scale) for one in (_cut(cells, truth), truth.values))
    mean_first, mean_second = _smoothed(first), _smoothed(second)
    own = _smoothed(first**2) - mean_first**2 + _smoothed(second**2) - mean_second**2
    both = _smoothed(first * second) - mean_first * mean_second
    light = (2 * mean_first * mean_second + STABLE[0]) / (mean_first**2 + mean_second**2 + STABLE[0])
    return np.asarray((light * (2 * both + STABLE[1]) / (own + STABLE[1])).mean(axis=(1, 2, 3)))


def _channels_last(pictures: FloatArray) -> FloatArray:
    return pictures if pictures.ndim == 4 else pictures[..., None]


def _smoothed(pictures: FloatArray) -> FloatArray:
    """Weighted means over windows that lie within the picture, along both sides in turn."""
    for axis in (1, 2):
        length = pictures.shape[axis]
        width = min(WINDOW, length - (length + 1) % 2)  # odd, so that it has a middle
        offsets = np.arange(width) - width // 2
        weights = np.exp(-(offsets**2) / (2 * DEVIATION**2))
        weights /= weights.sum()
        places = length - width + 1
        shifted = (np.take(pictures, np.arange(start, start + places), axis=axis) for start in range(width))
        pictures = np.asarray(sum(weight * part for weight, part in zip(weights, shifted, strict=True)))
    return pictures
