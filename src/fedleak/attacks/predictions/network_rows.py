"""What a network's confidences say about its scores, and each row moved onto its own prediction.

Levenberg-Marquardt steps in the box, for all rows that still miss their prediction. A step is the smallest, in the
metric of the rows' covariance, that meets the linearised equations up to a damping of the row's own: less of it after a
step that came closer to the seen confidences, more after one that did not. Unknowns at a wall of the box that want to
leave it stay. Where a row has as many equations as unknowns this ends at the true values unless it is caught in a bend
of the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedleak.attacks.predictions.prediction_case import PredictionCase
from fedleak.core.arrays import AnyArray, BoolArray, FloatArray, IntArray
from fedleak.models.inversion.equations import ONE_SIDED, is_unseen
from fedleak.models.score_models import Link, NetworkModel

LEAST_CONFIDENCE = 1e-30  # a smaller one says no more than that a score is low
RELATIVE_PRECISION = 1e-15  # of a confidence in float64


def wanted_differences(case: PredictionCase, link: Link) -> tuple[FloatArray, FloatArray]:
    """Differences of the scores that the confidences stand for (eq. 7), and the covariance of their errors."""
    release = case.release
    seen = release.centred(case.confidences)
    confidences = np.clip(seen, LEAST_CONFIDENCE, 1.0)
    relative = np.maximum(release.deviation / confidences, RELATIVE_PRECISION)
    relative[seen < LEAST_CONFIDENCE] = -np.log(LEAST_CONFIDENCE)
    if not release.is_exact:
        relative[is_unseen(seen, release.deviation)] = ONE_SIDED
    if link is Link.SIGMOID_EACH:
        inner = np.minimum(confidences, 1 - RELATIVE_PRECISION)
        return np.log(inner) - np.log1p(-inner), _diagonal((relative / (1 - inner)) ** 2)
    if link is Link.SIGMOID:
        scores = np.log(confidences[:, 1:]) - np.log(confidences[:, :1])
        return scores, _diagonal((relative**2).sum(axis=1, keepdims=True))
    difference = -np.diff(np.eye(confidences.shape[1]), axis=0)
    logs = np.log(confidences) @ difference.T
    return logs, np.einsum("ik,nk,jk->nij", difference, relative**2, difference)


class ScoreDifferences(Protocol):
    """The differences of scores that a model's confidences stand for, and their derivatives by some inputs."""

    def at(self, rows: FloatArray) -> FloatArray: ...  # (rows, equations)

    def slopes(self, rows: FloatArray, columns: IntArray) -> tuple[FloatArray, FloatArray]: ...


@dataclass(frozen=True, eq=False)
class NetworkScores:
    """Read off a network's layers."""

    model: NetworkModel

    def at(self, rows: FloatArray) -> FloatArray:
        return _neighbours(self.model.scores(rows), self.model.link)

    def slopes(self, rows: FloatArray, columns: IntArray) -> tuple[FloatArray, FloatArray]:
        scores, slopes = score_slopes(self.model, rows, columns)
        return _neighbours(scores, self.model.link), _neighbours(slopes, self.model.link)


def score_slopes(model: NetworkModel, rows: FloatArray, columns: IntArray) -> tuple[FloatArray, FloatArray]:
    """Scores (rows, outputs) and their derivatives by the given inputs (rows, outputs, columns).

    Derivatives are good to single precision: they steer steps that the scores, in double precision, decide on.
    """
    hidden, masks = rows, []
    for weight, bias in zip(model.weights[:-1], model.biases[:-1], strict=True):
        hidden = hidden @ weight.T + bias
        masks.append(hidden > 0)
        hidden = np.where(masks[-1], hidden, 0.0)
    scores = hidden @ model.weights[-1].T + model.biases[-1]
    last = model.weights[-1].astype(np.float32)
    slope: AnyArray = np.broadcast_to(last, (len(rows), *last.shape))
    for depth in range(len(masks) - 1, -1, -1):
        weight = (model.weights[depth] if depth else model.weights[0][:, columns]).astype(np.float32)
        passed = slope * masks[depth][:, None, :]
        # One product of two matrices: a product for each row would be several times slower.
        slope = (passed.reshape(-1, passed.shape[2]) @ weight).reshape(*passed.shape[:2], weight.shape[1])
    return scores, np.asarray(slope if masks else slope[:, :, columns], dtype=np.float64)


def _neighbours(scores: FloatArray, link: Link) -> FloatArray:
    """Neighbouring outputs subtracted, along the second axis; the outputs themselves where each stands alone."""
    return np.asarray(scores[:, :-1] - scores[:, 1:]) if link is Link.SOFTMAX else scores


def _diagonal(variances: FloatArray) -> FloatArray:
    return np.asarray(variances[:, :, None] * np.eye(variances.shape[1]))


EXACT = 1e-12  # variance of a score difference above which its row is left as it is
MET = 1e-16  # squared distance at which a row's equations count as met
FIRST_DAMPING, LEAST_DAMPING, MOST_DAMPING, CHANGE = 1e-2, 1e-10, 1e3, 10.0


@dataclass(eq=False)
class _State:
    """Of all rows; changed in place where a step helped."""

    values: FloatArray
    gap: FloatArray  # wanted score differences less those at the values
    slope: FloatArray
    damping: FloatArray

    @property
    def misfit(self) -> FloatArray:
        return np.asarray((self.gap**2).sum(axis=1))


def onto_predictions(
    case: PredictionCase,
    scores: ScoreDifferences,
    wanted: tuple[FloatArray, FloatArray],
    spread: FloatArray,
    values: FloatArray,
    n_steps: int,
) -> FloatArray:
    """``wanted`` are the score differences and the covariances of their errors; rows with errors are not moved."""
    right, variance = wanted
    exact = _is_exact(variance)
    at, slope = scores.slopes(case.inputs(values), case.unknown_positions)
    state = _State(values.copy(), right - at, slope, np.full(len(values), FIRST_DAMPING))
    for _ in range(n_steps):
        rows = np.flatnonzero(exact & (state.misfit > MET))
        if not len(rows):
            break
        tried = np.clip(state.values[rows] + _damped_step(state, rows, spread), 0.0, 1.0)
        at, slope = scores.slopes(case.inputs(tried, rows), case.unknown_positions)
        _keep(state, rows, tried, right[rows] - at, slope)
    return state.values


def _is_exact(variance: FloatArray) -> BoolArray:
    return np.asarray(np.einsum("nkk->nk", variance).max(axis=1, initial=0.0) < EXACT)


def _damped_step(state: _State, rows: IntArray, spread: FloatArray) -> FloatArray:
    values, gap = state.values[rows], state.gap[rows]
    free = np.ones(values.shape, dtype=bool)
    for _ in range(2):  # once to see who wants to leave the box, once without them
        slope = state.slope[rows] * free[:, None, :]
        across = slope @ spread
        square = across @ slope.swapaxes(1, 2)
        scale = np.einsum("nkk->n", square) / square.shape[1] + 1e-12
        damped = square + (state.damping[rows] * scale)[:, None, None] * np.eye(square.shape[1])
        step = free * np.einsum("nkd,nk->nd", across, np.linalg.solve(damped, gap[:, :, None])[:, :, 0])
        free &= ~(((values <= 0) & (step < 0)) | ((values >= 1) & (step > 0)))
    return np.asarray(step * free)


def _keep(state: _State, rows: IntArray, tried: FloatArray, gap: FloatArray, slope: FloatArray) -> None:
    better = (gap**2).sum(axis=1) < state.misfit[rows]
    kept = rows[better]
    state.values[kept], state.gap[kept], state.slope[kept] = tried[better], gap[better], slope[better]
    factor = np.where(better, 1.0 / CHANGE, CHANGE)
    state.damping[rows] = np.clip(state.damping[rows] * factor, LEAST_DAMPING, MOST_DAMPING)


N_RESTARTS = 4
ON_PREDICTION = 1e-12  # squared distance of score differences at which a row counts as met


def restarted(
    case: PredictionCase,
    scores: ScoreDifferences,
    wanted: tuple[FloatArray, FloatArray],
    found: FloatArray,
    n_steps: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Rows that ended off their predictions start again anywhere in the box, and take an end that meets them.

    An end that only comes closer is no better founded than the one that began at what all rows together say.
    """
    values, misfit = found.copy(), misfits(case, scores, wanted, found)
    for _ in range(N_RESTARTS):
        left = np.flatnonzero(misfit > ON_PREDICTION)
        if not len(left):
            break
        part, aim = case.part(left), (wanted[0][left], wanted[1][left])
        start = rng.random((len(left), case.n_unknown))
        tried = onto_predictions(part, scores, aim, np.eye(case.n_unknown), start, n_steps)
        reached = misfits(part, scores, aim, tried)
        better = (reached <= ON_PREDICTION) & _is_exact(aim[1])
        values[left[better]], misfit[left[better]] = tried[better], reached[better]
    return values


def misfits(
    case: PredictionCase, scores: ScoreDifferences, wanted: tuple[FloatArray, FloatArray], values: FloatArray
) -> FloatArray:
    return np.asarray(((scores.at(case.inputs(values)) - wanted[0]) ** 2).sum(axis=1))
