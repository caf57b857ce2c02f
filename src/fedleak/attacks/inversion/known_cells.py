"""The known cells of one party as positions in a table."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.knowledge import Knowledge


def known_cells(knowledge: Knowledge, owner: str, ids: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Row positions, columns and values; cells of rows that are not in the table are left out."""
    position = {int(row): index for index, row in enumerate(ids)}
    rows, columns, values = [], [], []
    for known in knowledge.cells:
        if known.owner != owner:
            continue
        for row, column, value in zip(known.ids, known.columns, known.values, strict=True):
            if int(row) in position:
                rows.append(position[int(row)])
                columns.append(int(column))
                values.append(float(value))
    return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(values, dtype=np.float64)
