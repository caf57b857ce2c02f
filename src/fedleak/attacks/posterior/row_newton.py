"""Each row onto its own prediction: Levenberg-Marquardt steps in the box, for all rows that still miss it.

A step is the smallest, in the metric of the rows' covariance, that meets the linearised equations up to a damping of
the row's own: less of it after a step that came closer to the seen confidences, more after one that did not. Unknowns
at a wall of the box that want to leave it stay. Where a row has as many equations as unknowns this ends at the true
values unless it is caught in a bend of the network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.posterior.network_scores import difference_slopes
from fedleak.attacks.predictions import PredictionCase
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.models.network import NetworkModel

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
    model: NetworkModel,
    wanted: tuple[FloatArray, FloatArray],
    spread: FloatArray,
    values: FloatArray,
    n_steps: int,
) -> FloatArray:
    """``wanted`` are the score differences and the covariances of their errors; rows with errors are not moved."""
    right, variance = wanted
    exact = np.einsum("nkk->nk", variance).max(axis=1, initial=0.0) < EXACT
    at, slope = difference_slopes(model, case.inputs(values), case.unknown_positions)
    state = _State(values.copy(), right - at, slope, np.full(len(values), FIRST_DAMPING))
    for _ in range(n_steps):
        rows = np.flatnonzero(exact & (state.misfit > MET))
        if not len(rows):
            break
        tried = np.clip(state.values[rows] + _step(state, rows, spread), 0.0, 1.0)
        at, slope = difference_slopes(model, case.inputs(tried, rows), case.unknown_positions)
        _keep(state, rows, tried, right[rows] - at, slope)
    return state.values


def _step(state: _State, rows: IntArray, spread: FloatArray) -> FloatArray:
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
