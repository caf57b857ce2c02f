"""A smooth model that can only be asked: its score differences and their derivatives, from answers alone.

The logarithms of confidences, subtracted, are what a model's scores differ by (eq. 7 of Luo et al. 2021), whatever the
model is. Central differences of them are derivatives, as long as the model is smooth: where it is a step function
(trees, neighbours) they are zero or wild, which two sizes of step tell apart. Where the logarithms are a linear
function of the inputs, a logistic regression stands behind the service: a few answers give its weights away.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.predictions.prediction_case import PredictionCase
from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.models.inversion.equations import ONE_SIDED, SMALLEST_NORMAL, is_unseen, last_digit
from fedleak.models.model import Model
from fedleak.models.score_models import LinearModel

SINGLE = 1e-10  # last digits above this are those of single precision
STEP_DOUBLE, STEP_SINGLE = 1e-5, 2e-3  # on the unit interval: errors of differences and of rounding balance there
FLOOR_DIGITS = 64.0  # a confidence of fewer last digits than these says no more than that it is small


@dataclass(frozen=True, eq=False)
class AskedScores:
    model: Model
    floor: float  # under confidences: their precision
    digit: float  # by which a confidence may be off, as a share of itself or of one
    relative: bool
    step: float

    @classmethod
    def of(cls, case: PredictionCase) -> AskedScores:
        """A service that never says less than the last digit of 1 may say 1 less the others; any other says more."""
        digit = last_digit(case.confidences)
        positive = case.confidences[case.confidences > 0]
        relative = bool(positive.min(initial=1.0) < digit / 2)
        floor = SMALLEST_NORMAL if relative and digit < SINGLE else FLOOR_DIGITS * digit
        return cls(case.model, floor, digit, relative, STEP_SINGLE if digit > SINGLE else STEP_DOUBLE)

    def at(self, rows: FloatArray) -> FloatArray:
        logs = np.log(np.maximum(self.model.confidences(rows), self.floor))
        return np.asarray(logs[:, :-1] - logs[:, 1:])

    def slopes(self, rows: FloatArray, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        """One question for a row and all the rows beside it."""
        return self._slopes(rows, columns, self.step)

    def _slopes(self, rows: FloatArray, columns: IntArray, step: float) -> tuple[FloatArray, FloatArray]:
        asked = np.repeat(rows[:, None, :], 1 + 2 * len(columns), axis=1)
        for index, column in enumerate(columns):
            asked[:, 1 + 2 * index, column] += step
            asked[:, 2 + 2 * index, column] -= step
        answers = self.at(asked.reshape(-1, rows.shape[1])).reshape(len(rows), asked.shape[1], -1)
        slopes = (answers[:, 1::2] - answers[:, 2::2]) / (2 * step)
        return answers[:, 0], np.asarray(slopes.swapaxes(1, 2))

    def is_smooth(self, rows: FloatArray, columns: IntArray) -> bool:
        """Whether the slopes with a step and with one several times as long are alike, in most places and not zero."""
        _, fine = self._slopes(rows, columns, self.step)
        _, coarse = self._slopes(rows, columns, COARSER * self.step)
        size = np.abs(fine).max(axis=(1, 2))
        alike = np.abs(fine - coarse).max(axis=(1, 2)) <= ALIKE * size
        return bool(np.mean(alike & (size > 0)) > MOST)


COARSER, ALIKE, MOST = 4.0, 0.05, 0.7


def wanted_ratios(case: PredictionCase, scores: AskedScores) -> tuple[FloatArray, FloatArray]:
    """Log-ratios of the released confidences, floored at their precision, and the covariance of their errors."""
    release = case.release
    seen = release.centred(case.confidences)
    floored = np.maximum(seen, scores.floor)
    relative = np.hypot(release.deviation, scores.digit * (floored if scores.relative else 1.0)) / floored
    relative[seen <= scores.floor] = -np.log(scores.floor)  # anything below
    if not release.is_exact:
        relative[is_unseen(seen, release.deviation)] = ONE_SIDED
    difference = -np.diff(np.eye(seen.shape[1]), axis=0)
    return np.log(floored) @ difference.T, np.einsum("ik,nk,jk->nij", difference, relative**2, difference)


PROBES_A_WEIGHT, MORE_PROBES = 2, 40
LEAST_PROBED = 1e-6  # answers with a smaller confidence are left out: few digits of its logarithm are right
LINEAR = 1e4  # last digits, over the least confidence, by which a linear function may miss the answers


def extracted_linear(case: PredictionCase, rng: np.random.Generator) -> LinearModel | None:
    """The logistic regression behind a service; None where its answers are not those of one.

    It is fitted on half of the answers and has to give the others.
    """
    width = len(case.model.columns)
    n_probes = 2 * (PROBES_A_WEIGHT * (width + 1) + MORE_PROBES)
    rows = case.inputs(rng.random((n_probes, case.n_unknown)), rng.integers(len(case.ids), size=n_probes))
    confidences = case.model.confidences(rows)
    rows, confidences = rows[told := confidences.min(axis=1) > LEAST_PROBED], confidences[told]
    if len(rows) < n_probes / 2:
        return None
    logs = np.log(confidences)
    design = np.column_stack([np.ones(len(rows)), rows])
    ratios = logs[:, 1:] - logs[:, :1]
    fitted = np.linalg.lstsq(design[::2], ratios[::2], rcond=None)[0]
    missed = np.abs(design[1::2] @ fitted - ratios[1::2])
    allowed = LINEAR * last_digit(confidences) / confidences[1::2].min(axis=1, keepdims=True)
    if (missed > allowed * (1.0 + np.abs(ratios[1::2]))).any():
        return None
    weights: AnyArray = np.vstack([np.zeros(width), fitted[1:].T])
    return LinearModel(case.model.columns, weights, np.concatenate([[0.0], fitted[0]]))
