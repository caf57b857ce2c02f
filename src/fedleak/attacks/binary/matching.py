"""Cells on which several tables agree, when rows have no names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from fedleak.core.arrays import BoolArray, FloatArray


def certain_cells(tables: Sequence[FloatArray]) -> BoolArray:
    """Cells of the first table that every other table has too, after its rows are matched to the first one's.

    A single table of unknown completeness makes nothing certain.
    """
    first = tables[0]
    certain = np.full(first.shape, len(tables) > 1)
    for other in tables[1:]:
        distance = np.nansum((first[:, None, :] - other[None, :, :]) ** 2, axis=2)
        _, chosen = linear_sum_assignment(distance)
        certain &= first == other[chosen]
    return certain
