"""Known cells of a victim, placed in its table, each right to within its own rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.knowledge import Knowledge


@dataclass(frozen=True, eq=False)
class PlacedCells:
    rows: IntArray  # positions in the table
    columns: IntArray
    values: FloatArray
    within: FloatArray

    def turned(self) -> PlacedCells:
        """Of the transposed table."""
        return PlacedCells(self.columns, self.rows, self.values, self.within)


def known_cells(knowledge: Knowledge, owner: str, ids: IntArray, first_column: int = 0) -> PlacedCells:
    """Cells of rows that are not in the table are left out; columns are counted from the owner's first."""
    position = positions_of(ids)
    found = [
        (position[int(row)], first_column + int(column), float(value), known.within)
        for known in knowledge.cells
        if known.owner == owner
        for row, column, value in zip(known.ids, known.columns, known.values, strict=True)
        if int(row) in position
    ]
    rows, columns, values, within = zip(*found, strict=True) if found else ((), (), (), ())
    return PlacedCells(
        np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64), np.array(values), np.array(within)
    )
