"""How far sets of rows are from one another, in units of how far rows of one set are apart."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray


def spread(rows: FloatArray) -> float:
    off = rows - rows.mean(axis=0) if len(rows) > 1 else rows
    return float(np.sqrt((off**2).mean())) + 1e-300


def furthest(rows: FloatArray, labels: IntArray, others: FloatArray, other_labels: IntArray) -> float:
    """The largest distance of a row from the nearest of the others with its label, in spreads."""
    from scipy.optimize import linear_sum_assignment

    far = ((rows[:, None] - others[None]) ** 2).mean(axis=2)
    far = np.where(labels[:, None] == other_labels[None], far, far.max() + 1)
    return float(np.sqrt(far[linear_sum_assignment(far)].max()) / spread(rows))
