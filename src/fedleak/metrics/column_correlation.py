"""How a victim's column correlates with what the adversary has (Luo et al. 2021, eq. 16 and 17)."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray


def mean_absolute_correlation(known: FloatArray, hidden: FloatArray) -> FloatArray:
    """For each hidden column, the mean over the known columns of |Pearson's r|.

    With the adversary's columns it is eq. 16, with the confidences eq. 17. A constant column has correlation 0.
    """
    first, second = _standardised(known), _standardised(hidden)
    correlation = np.abs(first.T @ second)
    return np.asarray(correlation.mean(axis=0)) if len(correlation) else np.zeros(hidden.shape[1])


def _standardised(columns: FloatArray) -> FloatArray:
    centred = columns - columns.mean(axis=0)
    length = np.linalg.norm(centred, axis=0)
    return np.asarray(centred / np.where(length > 1e-12, length, np.inf))
