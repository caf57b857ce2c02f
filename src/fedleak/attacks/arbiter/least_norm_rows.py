"""What scores and gradients tell of the rows where there are fewer of them than cells.

All equations are linear in the cells, so that the part of the table in their span is exact. The table of least norm
has that part and nothing besides; a direction that declared noise or rounding may have made counts as not seen. Beyond
the budget of one dense system each row has its own scores alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.arbiter.gradient_equations import MOST_NUMBERS, MOST_UNKNOWNS, residual_vectors
from fedleak.attacks.arbiter.opened_training import OpenedTraining
from fedleak.core.arrays import FloatArray, IntArray

RANK_TOLERANCE = 1e-13  # weaker directions, relative to the strongest, are rounding of floating point
SEEN = 3.0  # standard deviations: less than this in a direction may be noise, which a weak one would blow up
LEAST_ERROR = 1e-15  # where nothing is rounded and all scores are 0


@dataclass(frozen=True, eq=False)
class LeastNormRows:
    values: FloatArray  # (rows, columns)
    rank: int  # directions that are determined


def least_norm_rows(training: OpenedTraining) -> LeastNormRows:
    n_equations = len(training.row) + training.gradients.size
    fits = training.n_unknowns <= MOST_UNKNOWNS and n_equations * training.n_unknowns <= MOST_NUMBERS
    return _together(training) if fits else _row_by_row(training)


def _together(training: OpenedTraining) -> LeastNormRows:
    """Unknowns: the cells, row by row; each row's part of the scores that never moves; the first weights."""
    matrix = np.vstack([_score_lines(training), _gradient_lines(training)])
    right = np.concatenate([training.scores, (training.gradients - training.l2 * training.walked).ravel()])
    error = np.concatenate([training.score_error[training.round], training.gradient_error.ravel()])
    found, rank = _least_norm(matrix, right[:, None], error)
    n_cells = training.n_rows * training.n_columns
    return LeastNormRows(found[:n_cells].reshape(training.n_rows, training.n_columns), rank)


def _least_norm(matrix: FloatArray, right: FloatArray, error: FloatArray) -> tuple[FloatArray, int]:
    """(unknowns, cases), and over all cases the directions that were seen. ``error`` is of each equation."""
    weight = 1 / np.maximum(error, LEAST_ERROR)[:, None]
    left, singular, directions = np.linalg.svd(matrix * weight, full_matrices=False)
    amount = left.T @ (right * weight)  # each with a standard deviation of 1
    solid = singular > RANK_TOLERANCE * singular.max(initial=0.0)
    seen = solid[:, None] & (np.abs(amount) >= SEEN)
    parts = np.where(seen, amount, 0.0) / np.where(solid, singular, 1.0)[:, None]
    return np.asarray(directions.T @ parts), int(seen.sum())


def _score_lines(training: OpenedTraining) -> FloatArray:
    visit = np.arange(len(training.row))
    cells = np.zeros((len(visit), training.n_rows, training.n_columns))
    cells[visit, training.row] = training.walked[training.round]
    still = np.zeros((len(visit), training.n_rows))
    still[visit, training.row] = 1.0
    weights = np.zeros((len(visit), training.n_columns * training.open_weights))
    return np.hstack([cells.reshape(len(visit), -1), still[:, : training.n_rows * training.open_start], weights])


def _gradient_lines(training: OpenedTraining) -> FloatArray:
    n_columns = training.n_columns
    cells = np.kron(residual_vectors(training), np.eye(n_columns))
    still = np.zeros((len(cells), training.n_rows * training.open_start))
    weights = np.tile(training.l2 * np.eye(n_columns), (training.n_rounds, 1))
    return np.hstack([cells, still, weights[:, : n_columns * training.open_weights]])


def _row_by_row(training: OpenedTraining) -> LeastNormRows:
    """Rows of one schedule share a pseudo-inverse."""
    lines = np.column_stack([training.walked, np.ones((training.n_rounds, int(training.open_start)))])
    values, rank = np.zeros((training.n_rows, training.n_columns)), 0
    for visits in _visits_by_schedule(training):  # (rows, visits)
        rounds = training.round[visits[0]]
        found, seen = _least_norm(lines[rounds], training.scores[visits].T, training.score_error[rounds])
        values[training.row[visits[:, 0]]] = found[: training.n_columns].T
        rank += seen
    return LeastNormRows(values, rank)


def _visits_by_schedule(training: OpenedTraining) -> list[IntArray]:
    starts = np.flatnonzero(np.diff(training.row, prepend=-1))
    by_schedule: dict[bytes, list[IntArray]] = {}
    for visits in np.split(np.arange(len(training.row)), starts[1:]):
        by_schedule.setdefault(training.round[visits].tobytes(), []).append(visits)
    return [np.array(group) for group in by_schedule.values()]
