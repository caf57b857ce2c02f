"""In which steps a column moves: 1 for whole numbers, 0.01 for cents, the scaled step after scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray

MOST_STEPS = 2**24
MOST_PARTS = 1000  # the closest two values may be that many steps apart
# Of a value's place on the grid, in steps: what float64 leaves of a number with up to six digits before the point.
SLACK, SLACK_PER_STEP = 1e-9, 1e-12


@dataclass(frozen=True)
class ColumnStep:
    step: float
    slack: float  # how far from a whole number of steps above the lowest a value lies at most


def regular_step(values: FloatArray) -> ColumnStep | None:
    """The widest step of which all distances are whole multiples; none for a constant or a continuous column."""
    found = np.unique(values)
    span = float(found[-1] - found[0]) if len(found) else 0.0
    if not span > 0:
        return None
    gaps = span / np.diff(found).min()
    for parts in range(1, MOST_PARTS + 1):
        n_steps = round(gaps * parts)
        if n_steps > MOST_STEPS:
            return None
        places = (found - found[0]) / span * n_steps
        if np.abs(places - np.round(places)).max() <= SLACK + SLACK_PER_STEP * n_steps:
            on_grid = found[0] + np.round(places) / n_steps * span
            return ColumnStep(span / n_steps, float(np.abs(found - on_grid).max()))
    return None
