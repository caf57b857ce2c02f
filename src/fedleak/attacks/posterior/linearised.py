"""A network inverted by iterated linearisation: Gauss-Newton about the prior mean, all rows at once."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.equality.column_prior import ColumnPrior
from fedleak.attacks.posterior.row_systems import RowSystems, posterior_rows
from fedleak.attacks.predictions import PredictionCase
from fedleak.core.arrays import FloatArray
from fedleak.models.linear import Link
from fedleak.models.network import NetworkModel

N_ITERATIONS = 8
LEAST_CONFIDENCE = 1e-12  # smaller confidences say no more than that a score is low
RELATIVE_ERROR = 1e-3  # of a linearised score: keeps the systems solvable


def invert_network(case: PredictionCase, model: NetworkModel, prior: ColumnPrior) -> FloatArray:
    """The iterate of each row whose confidences come closest to the seen ones: a choice by the view alone."""
    wanted, variance = _wanted_scores(case, model)
    values = np.broadcast_to(prior.mean, (len(case.ids), case.n_unknown)).copy()
    best, best_gap = values, np.full(len(values), np.inf)
    for _ in range(N_ITERATIONS):
        scores, slope = score_slopes(model, case.inputs(values), case.unknown_positions)
        gap = wanted - _differences(scores, model.link)
        misfit = (gap**2).sum(axis=1)
        better = misfit < best_gap
        best, best_gap = np.where(better[:, None], values, best), np.minimum(misfit, best_gap)
        matrix = _differences(slope, model.link)
        right = gap + np.einsum("nkd,nd->nk", matrix, values)
        scale = prior.row_variance * np.einsum("nkd,nkd->n", matrix, matrix) / matrix.shape[1]
        error = variance + (RELATIVE_ERROR * scale + 1e-9)[:, None, None] * np.eye(matrix.shape[1])
        values = posterior_rows(prior, RowSystems(matrix, right, error))
    return best


def score_slopes(model: NetworkModel, rows: FloatArray, columns: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Scores (rows, outputs) and their derivatives by the given inputs (rows, outputs, columns)."""
    hidden, masks = rows, []
    for weight, bias in zip(model.weights[:-1], model.biases[:-1], strict=True):
        hidden = hidden @ weight.T + bias
        masks.append(hidden > 0)
        hidden = np.where(masks[-1], hidden, 0.0)
    scores = hidden @ model.weights[-1].T + model.biases[-1]
    slope = np.broadcast_to(model.weights[-1], (len(rows), *model.weights[-1].shape))
    for depth in range(len(masks) - 1, -1, -1):
        weight = model.weights[depth] if depth else model.weights[0][:, columns]
        slope = (slope * masks[depth][:, None, :]) @ weight
    return scores, np.asarray(slope if masks else slope[:, :, columns])


def _wanted_scores(case: PredictionCase, model: NetworkModel) -> tuple[FloatArray, FloatArray]:
    """Differences of the scores that the confidences stand for (eq. 7), and the covariance of their errors."""
    release = case.release
    seen = release.centred(case.confidences) if not release.is_exact else case.confidences
    confidences = np.clip(seen, LEAST_CONFIDENCE, 1.0)
    relative = np.maximum(release.deviation, LEAST_CONFIDENCE) / confidences
    if model.link is Link.SIGMOID_EACH:
        inner = np.clip(confidences, LEAST_CONFIDENCE, 1 - LEAST_CONFIDENCE)
        return np.log(inner) - np.log1p(-inner), _diagonal((relative / (1 - inner)) ** 2)
    if model.link is Link.SIGMOID:
        scores = np.log(confidences[:, 1:]) - np.log(confidences[:, :1])
        return scores, _diagonal((relative**2).sum(axis=1, keepdims=True))
    difference = -np.diff(np.eye(confidences.shape[1]), axis=0)
    logs = np.log(confidences) @ difference.T
    return logs, np.einsum("ik,nk,jk->nij", difference, relative**2, difference)


def _differences(scores: FloatArray, link: Link) -> FloatArray:
    """Neighbouring outputs subtracted, along the second axis; the outputs themselves where each stands alone."""
    return np.asarray(scores[:, :-1] - scores[:, 1:]) if link is Link.SOFTMAX else scores


def _diagonal(variances: FloatArray) -> FloatArray:
    return np.asarray(variances[:, :, None] * np.eye(variances.shape[1]))
