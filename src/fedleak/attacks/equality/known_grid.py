"""Which unknown columns take whole multiples of a step, from what the adversary is declared to know."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions import PredictionCase
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownColumn
from fedleak.models.inversion.whole_equations import Grid

OFF_GRID = 1e-6  # how far a column's range may be from whole steps
MOST_STEPS = 2**52  # more are no grid to float64


def known_grid(case: PredictionCase, knowledge: Knowledge) -> Grid:
    """From the declared steps; whole numbers have step 1."""
    declared = {column.column: column for column in knowledge.columns}
    steps, slack = np.zeros(case.n_unknown, dtype=np.int64), np.zeros(case.n_unknown)
    for index, name in enumerate(case.unknown_columns):
        column = declared.get(name)
        step = _step(column)
        n_steps = case.span[index] / step if step else 0.0
        if not 0.5 < n_steps < MOST_STEPS:
            continue
        off = abs(n_steps - round(n_steps)) / n_steps
        if off <= OFF_GRID:
            steps[index] = round(n_steps)
            slack[index] = off + (column.slack / case.span[index] if column else 0.0)
    return Grid(steps, slack)


def _step(column: KnownColumn | None) -> float | None:
    if column is None:
        return None
    if column.step is not None:
        return column.step
    return 1.0 if column.kind in (ColumnKind.INTEGER, ColumnKind.BINARY) else None
