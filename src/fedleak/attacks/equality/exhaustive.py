"""Every point of a small grid, put through the model: those that it answers as it did are a row's solutions."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.equality.precision import NOISE_DEVIATIONS
from fedleak.attacks.predictions import PredictionCase
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.errors import MissingFromViewError
from fedleak.models.inversion.grid_solution import GridSolutions
from fedleak.models.inversion.rounding_errors import last_digit
from fedleak.models.inversion.whole_equations import Grid

MOST_EVALUATIONS = 1_000_000  # of the model, in all
CHUNK_ROWS = 50_000  # put through the model at a time
# By how much the same model's confidences may differ, for sums in another order: in double and in single precision.
SAME_DOUBLE, SAME_SINGLE = 1e-9, 1e-5


def exhaustive_solutions(case: PredictionCase, grid: Grid, *, labels_only: bool) -> GridSolutions:
    """``labels_only``: only the place of the largest confidence was released."""
    points = _points(grid, len(case.ids))
    per_chunk = max(1, CHUNK_ROWS // len(points))
    rows, found = [], []
    for start in range(0, len(case.ids), per_chunk):
        chosen = np.arange(start, min(start + per_chunk, len(case.ids)))
        inputs = np.empty((len(chosen), len(points), len(case.model.columns)))
        inputs[:, :, case.own_positions] = case.own[chosen, None, :]
        inputs[:, :, case.unknown_positions] = points
        answers = case.model.confidences(inputs.reshape(-1, inputs.shape[2])).reshape(len(chosen), len(points), -1)
        row, point = np.nonzero(_agree(case, answers, case.confidences[chosen, None, :], labels_only))
        rows.append(chosen[row])
        found.append(points[point])
    return GridSolutions(np.concatenate(rows), np.concatenate(found), listed=True)


def _points(grid: Grid, n_rows: int) -> FloatArray:
    """(points, columns), on the unit interval."""
    sizes = grid.steps + 1
    if grid.log2_points > np.log2(MOST_EVALUATIONS / max(n_rows, 1)):
        raise MissingFromViewError(
            f"the hidden columns have 2^{grid.log2_points:.0f} combinations of values: too many to try on {n_rows} rows"
        )
    places = np.unravel_index(np.arange(int(np.prod(sizes))), tuple(int(size) for size in sizes))
    return np.stack(places, axis=1) / grid.steps


def _agree(case: PredictionCase, answers: FloatArray, seen: FloatArray, labels_only: bool) -> BoolArray:
    if labels_only:
        return np.asarray(answers.argmax(axis=2) == seen.argmax(axis=2))
    release = case.release
    middle = seen + release.unit / 2 if release.rounded_down else seen
    same = SAME_DOUBLE if last_digit(case.confidences) < SAME_DOUBLE else SAME_SINGLE
    allowed = release.unit / 2 + NOISE_DEVIATIONS * release.noise + same
    return np.asarray((np.abs(answers - middle) <= allowed).all(axis=2))
