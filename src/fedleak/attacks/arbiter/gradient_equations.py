"""All rows together: g_k = sum of d_k,i x_i / batch + l2 (S(k) + W0), a line of equations a round for each column.

By themselves they take an independent residual vector a row (the paper's way). Beside the rows' own equations they have
only to settle what those leave open, with what is known of it as weighted equations: fewer visits then do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.arbiter.opened_training import OpenedTraining
from fedleak.attacks.arbiter.row_equations import RowEquations
from fedleak.core.arrays import FloatArray

RANK_TOLERANCE = 1e-10  # directions weaker than this, relative to the strongest, hold no usable digit
TOUCHED = 1e-6  # a cell with a larger part in the null space is not determined
MOST_UNKNOWNS = 3000  # of one dense system
MOST_NUMBERS = 1 << 24  # of its matrix


@dataclass(frozen=True, eq=False)
class Solved:
    values: FloatArray  # (rows, columns)
    errors: FloatArray  # standard deviations; infinite where a cell is not determined
    misfit: float
    n_spare: int


def residual_vectors(training: OpenedTraining) -> FloatArray:
    """(rounds, rows): what a row weighs in a round's gradient."""
    found = np.zeros((training.n_rounds, training.n_rows))
    found[training.round, training.row] = training.pushes
    return found


def within_budget(training: OpenedTraining) -> bool:
    """To have all residual vectors as one matrix, and to decompose it."""
    sizes = training.n_rounds, training.n_rows
    return min(sizes) <= MOST_UNKNOWNS and sizes[0] * sizes[1] <= MOST_NUMBERS


def too_large(training: OpenedTraining, rows: RowEquations) -> bool:
    """For what the rows leave open to be solved in one system."""
    n_open = len(rows.owner) + training.n_columns * training.open_weights
    too_wide = n_open > MOST_UNKNOWNS or training.gradients.size * n_open > MOST_NUMBERS
    return too_wide or not within_budget(training)


def solve_columns(training: OpenedTraining) -> Solved | None:
    """Each column by itself, from the gradients alone; None beyond the budget."""
    if not within_budget(training):
        return None
    error = np.max(training.gradient_error, axis=1)
    design = residual_vectors(training)
    if training.open_weights:
        design = np.column_stack([design, np.full(len(design), training.l2)])
    found = _least_squares(
        design / error[:, None], (training.gradients - training.l2 * training.walked) / error[:, None]
    )
    shape = (training.n_rows, training.n_columns)
    deviation = np.linalg.norm(found.factor, axis=1) / found.scale
    deviation[np.linalg.norm(found.null, axis=1) > TOUCHED] = np.inf
    errors = np.broadcast_to(deviation[: training.n_rows, None], shape)
    return Solved(found.unknowns[: training.n_rows], errors, found.misfit, found.n_spare)


def solve_jointly(training: OpenedTraining, rows: RowEquations) -> Solved | None:
    """What the rows' equations leave open, from the gradients; None where that is too much, or too little is there."""
    n_open = len(rows.owner) + training.n_columns * training.open_weights
    if too_large(training, rows):
        return None
    vectors = residual_vectors(training)
    if np.linalg.matrix_rank(vectors) * training.n_columns < n_open:
        return None  # too few independent equations, however many rounds: a recurring batch
    error = np.sqrt(training.gradient_error**2 + vectors**2 @ rows.errors**2)
    left_over = training.gradients - training.l2 * training.walked - vectors @ rows.values
    lines = _lines(training, rows, vectors) / error.reshape(-1, 1)
    known = np.flatnonzero(np.isfinite(rows.deviation))
    prior = np.zeros((len(known), n_open))
    prior[np.arange(len(known)), known] = 1.0 / rows.deviation[known]
    observed = np.concatenate([(left_over / error).ravel(), np.zeros(len(known))])
    found = _least_squares(np.vstack([lines, prior]), observed[:, None])
    moved = np.zeros_like(rows.values)
    np.add.at(moved, rows.owner, rows.directions * found.unknowns[: len(rows.owner)])
    return Solved(
        rows.values + moved,
        _cell_errors(rows, found),
        found.misfit + rows.misfit,
        found.n_spare + rows.n_spare,
    )


def _lines(training: OpenedTraining, rows: RowEquations, vectors: FloatArray) -> FloatArray:
    """(rounds x columns, unknowns): the open directions of all rows, then the first weights."""
    lines = vectors[:, None, rows.owner] * rows.directions.T[None, :, :]
    if training.open_weights:
        weights = np.broadcast_to(
            training.l2 * np.eye(training.n_columns), (training.n_rounds, *([training.n_columns] * 2))
        )
        lines = np.concatenate([lines, weights], axis=2)
    return lines.reshape(-1, lines.shape[2])


def _cell_errors(rows: RowEquations, found: _Fit) -> FloatArray:
    """Infinite for a cell that some direction of the null space moves."""
    n_open = len(rows.owner)
    errors = np.empty_like(rows.errors)
    for column, known in enumerate(rows.errors.T):
        share = rows.directions[:, column, None] / found.scale[:n_open, None]
        weight, lost, factor = (
            _norms_by_row(rows, share * part[:n_open]) for part in (np.eye(n_open), found.null, found.factor)
        )
        errors[:, column] = np.where(lost > TOUCHED * weight, np.inf, np.hypot(known, factor))
    return errors


def _norms_by_row(rows: RowEquations, parts: FloatArray) -> FloatArray:
    total = np.zeros((len(rows.values), parts.shape[1]))
    np.add.at(total, rows.owner, parts)
    return np.asarray(np.linalg.norm(total, axis=1))


@dataclass(frozen=True, eq=False)
class _Fit:
    """Of unknowns times ``scale``, which makes the columns of the design equally long."""

    unknowns: FloatArray
    scale: FloatArray
    factor: FloatArray  # (unknowns, rank); times its transpose it is the covariance
    null: FloatArray  # (unknowns, directions that the equations do not feel)
    misfit: float
    n_spare: int


def _least_squares(design: FloatArray, observed: FloatArray) -> _Fit:
    """By one singular value decomposition, which also tells what is determined and how well; errors are 1 a line."""
    scale = np.linalg.norm(design, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    left, singular, right = np.linalg.svd(design / scale, full_matrices=design.shape[0] < design.shape[1])
    rank = int(np.sum(singular > RANK_TOLERANCE * singular[0]))
    shown = left[:, :rank].T @ observed
    factor = right[:rank].T / singular[:rank]
    misfit = float(np.sum((observed - left[:, :rank] @ shown) ** 2))
    n_spare = (len(design) - rank) * observed.shape[1]
    return _Fit(factor @ shown / scale[:, None], scale, factor, right[rank:].T, misfit, n_spare)
