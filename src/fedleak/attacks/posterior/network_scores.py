"""What a network's confidences say about its scores, and how the scores move with the unknown inputs."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions import PredictionCase
from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.models.linear import Link
from fedleak.models.network import NetworkModel

LEAST_CONFIDENCE = 1e-30  # a smaller one says no more than that a score is low
RELATIVE_PRECISION = 1e-15  # of a confidence in float64


def wanted_differences(case: PredictionCase, link: Link) -> tuple[FloatArray, FloatArray]:
    """Differences of the scores that the confidences stand for (eq. 7), and the covariance of their errors."""
    release = case.release
    seen = release.centred(case.confidences)
    confidences = np.clip(seen, LEAST_CONFIDENCE, 1.0)
    relative = np.maximum(release.deviation / confidences, RELATIVE_PRECISION)
    relative[seen < LEAST_CONFIDENCE] = -np.log(LEAST_CONFIDENCE)
    if link is Link.SIGMOID_EACH:
        inner = np.minimum(confidences, 1 - RELATIVE_PRECISION)
        return np.log(inner) - np.log1p(-inner), _diagonal((relative / (1 - inner)) ** 2)
    if link is Link.SIGMOID:
        scores = np.log(confidences[:, 1:]) - np.log(confidences[:, :1])
        return scores, _diagonal((relative**2).sum(axis=1, keepdims=True))
    difference = -np.diff(np.eye(confidences.shape[1]), axis=0)
    logs = np.log(confidences) @ difference.T
    return logs, np.einsum("ik,nk,jk->nij", difference, relative**2, difference)


def differences(model: NetworkModel, rows: FloatArray) -> FloatArray:
    return _neighbours(model.scores(rows), model.link)


def difference_slopes(model: NetworkModel, rows: FloatArray, columns: IntArray) -> tuple[FloatArray, FloatArray]:
    scores, slopes = score_slopes(model, rows, columns)
    return _neighbours(scores, model.link), _neighbours(slopes, model.link)


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
