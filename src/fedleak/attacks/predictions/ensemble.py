"""A black box inverted by an ensemble: how its outputs covary with drawn inputs stands in for its derivatives.

Unknown columns are drawn as they are taken to spread: as the training rows that a forest counted at its leaves say, or
like own columns where nothing was counted. The same draws serve every row. The regression of the outputs on the drawn
inputs, row by row, is that row's linear system (the update of an ensemble Kalman filter): A_i x_i = b_i up to an error,
x_i about the columns' means, within the unit box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.predictions.equality_bayes import LEAST_SPREAD, prior_of_columns
from fedleak.attacks.predictions.prediction_case import PredictionCase, counted_unknowns
from fedleak.core.arrays import FloatArray, IntArray

N_DRAWS = 128


@dataclass(frozen=True, eq=False)
class UnknownColumns:
    """How the unknown columns are taken to spread over the unit interval before a prediction is looked at."""

    mean: FloatArray  # (unknowns,)
    variance: FloatArray  # (unknowns,): of a row's cell
    draws: FloatArray  # (draws, unknowns)
    source: str


def columns_of(case: PredictionCase, rng: np.random.Generator) -> UnknownColumns:
    counted = counted_unknowns(case)
    if counted is None:
        return _like_own(case, rng)
    return UnknownColumns(
        np.array([column.mean for column in counted]),
        np.maximum([column.variance for column in counted], LEAST_SPREAD**2),
        np.column_stack([column.draw(N_DRAWS, rng) for column in counted]),
        "training rows counted by the trees",
    )


def _like_own(case: PredictionCase, rng: np.random.Generator) -> UnknownColumns:
    """Draws also vary by how uncertain a column's mean is."""
    prior = prior_of_columns(case.own, case.n_unknown)
    drawn = prior.mean + prior.variance**0.5 * rng.standard_normal((N_DRAWS, case.n_unknown))
    variance = np.full(case.n_unknown, prior.row_variance)
    return UnknownColumns(prior.mean, variance, np.clip(drawn, 0.0, 1.0), "the adversary's own columns")


CHUNK_ROWS = 64


def invert_black_box(case: PredictionCase, columns: UnknownColumns) -> FloatArray:
    """Where a label alone is released, it says which of the draws can be meant: their mean output stands for the
    confidences, their spread for the error."""
    matrix, offset, error, seen = _regressions(case, columns.draws)
    systems = RowSystems(matrix, seen - offset, error + case.release.deviation**2 * np.eye(matrix.shape[1]))
    return posterior_rows(columns, systems)


def _regressions(case: PredictionCase, draws: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """For each row: slopes and offset of the outputs in the drawn inputs, what the line leaves unexplained, and the
    confidences that were seen."""
    n_rows, n_classes = len(case.ids), case.model.n_classes
    design = np.column_stack([np.ones(len(draws)), draws])
    ridge = 1e-3 * len(draws) * np.diag([0.0] + [1.0] * draws.shape[1])
    solve = np.linalg.solve(design.T @ design + ridge, design.T)  # (1 + unknowns, draws)
    matrix, offset = np.empty((n_rows, n_classes, draws.shape[1])), np.empty((n_rows, n_classes))
    error = np.empty((n_rows, n_classes, n_classes))
    seen = case.confidences.copy()
    template = np.empty((len(draws), len(case.model.columns)))
    template[:, case.unknown_positions] = draws
    for start in range(0, n_rows, CHUNK_ROWS):
        part = slice(start, min(start + CHUNK_ROWS, n_rows))
        rows = np.repeat(template[None], part.stop - start, axis=0)
        rows[:, :, case.own_positions] = case.own[part, None, :]
        outputs = case.model.confidences(rows.reshape(-1, rows.shape[2])).reshape(len(rows), len(draws), n_classes)
        line = np.einsum("pk,nkc->npc", solve, outputs)
        residual = outputs - np.einsum("kp,npc->nkc", design, line)
        offset[part], matrix[part] = line[:, 0], line[:, 1:].swapaxes(1, 2)
        error[part] = np.einsum("nkc,nke->nce", residual, residual) / len(draws)
        if case.release.top_label:
            seen[part], spread = _given_label(outputs, np.argmax(case.confidences[part], axis=1))
            error[part] += spread
    return matrix, offset, error + 1e-6 * np.eye(n_classes), seen


def _given_label(outputs: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    """Mean and covariance of the outputs over the draws with the row's label; over all where no draw has it."""
    meant = np.argmax(outputs, axis=2) == labels[:, None]
    meant[~meant.any(axis=1)] = True
    weights = meant / meant.sum(axis=1, keepdims=True)
    mean = np.einsum("nk,nkc->nc", weights, outputs)
    apart = outputs - mean[:, None]
    return mean, np.einsum("nk,nkc,nke->nce", weights, apart, apart)


N_CLIP_PASSES = 3


@dataclass(frozen=True, eq=False)
class RowSystems:
    matrix: FloatArray  # (rows, equations, unknowns)
    right: FloatArray  # (rows, equations)
    error: FloatArray  # (rows, equations, equations): covariance of the right side


def posterior_rows(columns: UnknownColumns, systems: RowSystems) -> FloatArray:
    """Each row's posterior mean; an unknown that leaves the box is put on its border and the rest solved again."""
    n_rows, _, width = systems.matrix.shape
    free = np.ones((n_rows, width), dtype=bool)
    values = np.broadcast_to(columns.mean, (n_rows, width)).copy()
    for _ in range(N_CLIP_PASSES):
        start = np.where(free, columns.mean, np.clip(values, 0.0, 1.0))
        matrix = systems.matrix * free[:, None, :]
        spread = (columns.variance * matrix) @ matrix.swapaxes(1, 2) + systems.error
        gap = systems.right - np.einsum("nkd,nd->nk", systems.matrix, start)
        weight = np.linalg.solve(spread, gap[:, :, None])[:, :, 0]
        values = start + columns.variance * np.einsum("nkd,nk->nd", matrix, weight)
        outside = (values < 0) | (values > 1)
        if not outside.any():
            break
        free &= ~outside
    return np.clip(values, 0.0, 1.0)
