"""What a column of this table looks like, learnt from the adversary's own columns and from all predictions.

Columns are taken as exchangeable: an unknown column's mean is drawn like the means of the adversary's own columns, its
rows spread like theirs. The mean of the equations over all rows then says more about the unknown means (a Gaussian
update). Nothing about the victim enters but what the predictions say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray

# Without own columns: a column on the unit interval, centred, as spread as uniform values.
CENTRE, SPREAD_OF_MEANS, SPREAD_OF_ROWS = 0.5, 0.25, 1 / 12**0.5
LEAST_SPREAD = 0.02


@dataclass(frozen=True, eq=False)
class ColumnPrior:
    """Of the unknown columns on the unit interval: their means, and the variances of means and of rows."""

    mean: FloatArray  # (unknowns,)
    mean_variance: float
    row_variance: float

    @property
    def variance(self) -> float:
        """Of a cell: its column's mean is uncertain, and its row varies about it."""
        return self.mean_variance + self.row_variance


def prior_of_columns(own: FloatArray, n_unknown: int) -> ColumnPrior:
    """From the adversary's own columns, each on the unit interval."""
    unit = on_unit_interval(own)
    if unit.shape[1] < 2:
        return ColumnPrior(np.full(n_unknown, CENTRE), SPREAD_OF_MEANS**2, SPREAD_OF_ROWS**2)
    means = unit.mean(axis=0)
    return ColumnPrior(
        np.full(n_unknown, float(means.mean())),
        max(float(means.var()), LEAST_SPREAD**2),
        max(float(unit.var(axis=0).mean()), LEAST_SPREAD**2),
    )


def on_unit_interval(own: FloatArray) -> FloatArray:
    """Columns that vary, each put on the unit interval by its own smallest and largest value."""
    spans = np.ptp(own, axis=0) if own.size else np.zeros(own.shape[1])
    varying = own[:, spans > 0]
    low = varying.min(axis=0) if varying.size else 0.0
    return np.asarray((varying - low) / spans[spans > 0])


def learn_means(prior: ColumnPrior, matrix: FloatArray, right: FloatArray, n_own: int) -> ColumnPrior:
    """Update the unknown means by the mean of ``matrix @ x = right`` over the rows.

    The grand mean is itself uncertain, by the variance of means over the number of own columns.
    """
    if not len(matrix) or not len(right):
        return prior
    width = len(prior.mean)
    covariance = prior.mean_variance * (np.eye(width) + 1.0 / max(n_own, 1))
    scatter = prior.row_variance / len(right) * (matrix @ matrix.T)
    gain = np.linalg.solve(matrix @ covariance @ matrix.T + scatter, matrix @ covariance)
    mean = prior.mean + (right.mean(axis=0) - matrix @ prior.mean) @ gain
    return ColumnPrior(np.clip(mean, 0.0, 1.0), prior.mean_variance, prior.row_variance)


def posterior_cells(prior: ColumnPrior, matrix: FloatArray, right: FloatArray, error: FloatArray) -> FloatArray:
    """The mean of each cell given the equations of its row, whose right side has the given error covariance."""
    if not len(matrix):
        return np.broadcast_to(prior.mean, (len(right), len(prior.mean))).copy()
    gap = right - prior.mean @ matrix.T
    if not error.any():
        return prior.mean + gap @ matrix  # orthonormal rows: the equations hold exactly
    weight = error / prior.variance + np.eye(len(matrix))
    solved = np.linalg.solve(weight, gap[:, :, None])[:, :, 0]
    result: FloatArray = prior.mean + solved @ matrix
    return result
