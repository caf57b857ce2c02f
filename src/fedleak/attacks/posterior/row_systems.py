"""Rows with a linear system each: A_i x_i = b_i up to an error, x_i about the prior's means, within the unit box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.equality.column_prior import ColumnPrior
from fedleak.core.arrays import FloatArray

N_CLIP_PASSES = 3


@dataclass(frozen=True, eq=False)
class RowSystems:
    matrix: FloatArray  # (rows, equations, unknowns)
    right: FloatArray  # (rows, equations)
    error: FloatArray  # (rows, equations, equations): covariance of the right side


def posterior_rows(prior: ColumnPrior, systems: RowSystems) -> FloatArray:
    """Each row's posterior mean; an unknown that leaves the box is put on its border and the rest solved again."""
    n_rows, _, width = systems.matrix.shape
    free = np.ones((n_rows, width), dtype=bool)
    values = np.broadcast_to(prior.mean, (n_rows, width)).copy()
    for _ in range(N_CLIP_PASSES):
        start = np.where(free, prior.mean, np.clip(values, 0.0, 1.0))
        matrix = systems.matrix * free[:, None, :]
        spread = prior.row_variance * matrix @ matrix.swapaxes(1, 2) + systems.error
        gap = systems.right - np.einsum("nkd,nd->nk", systems.matrix, start)
        weight = np.linalg.solve(spread, gap[:, :, None])[:, :, 0]
        values = start + prior.row_variance * np.einsum("nkd,nk->nd", matrix, weight)
        outside = (values < 0) | (values > 1)
        if not outside.any():
            break
        free &= ~outside
    return np.clip(values, 0.0, 1.0)
