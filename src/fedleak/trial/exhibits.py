"""What a report shows of true values beside guessed ones: chosen by position, never by how well it was guessed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.adversary import Index
from fedleak.core.arrays import FloatArray, IntArray, flat_rows
from fedleak.core.finding import ColumnResult, ExampleRows, Exhibit
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.metric import Answered

MAX_EXHIBIT_CELLS = 300
MAX_EXHIBIT_IMAGES = 8  # as many as a report draws
MAX_EXHIBIT_SIDE = 64  # pixels of an exhibited image, of which every second or third is kept if it is larger
IMAGE_AXES = (3, 4)  # images, height, width[, channels]
MAX_EXAMPLE_ROWS = 4
MAX_EXAMPLE_COLUMNS = 8  # as many as a page names


def exhibit_of(answered: Answered, columns: Sequence[ColumnResult] = ()) -> Exhibit:
    """Whole images, or cells of anything else, spread evenly over the secret; of a table a few rows too."""
    cells = answered.answers[0]
    if cells.ndim in IMAGE_AXES:
        return _image_exhibit(cells, answered.truth)
    there = np.isfinite(cells) if answered.absent is None else np.isfinite(cells) & ~answered.absent
    chosen = _spread(np.flatnonzero(there), MAX_EXHIBIT_CELLS)
    true: FloatArray = answered.truth.values.ravel()[chosen]
    return Exhibit(true, cells.ravel()[chosen], _example_rows(answered, columns))


def _spread(places: IntArray, most: int) -> IntArray:
    chosen: IntArray = places[np.linspace(0, len(places) - 1, min(len(places), most)).astype(np.int64)]
    return chosen


def _example_rows(answered: Answered, columns: Sequence[ColumnResult]) -> ExampleRows | None:
    """None where no unknown cell of a table was guessed."""
    truth = answered.truth
    if not columns:
        return None
    guessed = np.where(answered.unknown, answered.answers[0], np.nan)
    best = sorted(range(len(columns)), key=lambda column: -(columns[column].learnt or 0.0))[:MAX_EXAMPLE_COLUMNS]
    rows = _spread(np.flatnonzero(np.isfinite(guessed[:, best]).any(axis=1)), MAX_EXAMPLE_ROWS)
    if not len(rows):
        return None
    cut = np.ix_(rows, np.array(best, dtype=np.int64))
    true = truth.values if answered.absent is None else np.where(answered.absent, np.nan, truth.values)
    names = _names(truth.ids[rows], answered.guess.secret.kind.indexed_by)
    return ExampleRows(names, tuple(columns[column].column for column in best), true[cut], guessed[cut])


def _names(ids: IntArray, index: Index) -> tuple[str, ...]:
    """``row 17``; ``round 2, row 17``."""
    parts = ids.reshape(len(ids), -1)
    return tuple(
        ", ".join(f"{part} {number}" for part, number in zip(index.parts, one, strict=True)) for one in parts.tolist()
    )


def _image_exhibit(cells: FloatArray, truth: SecretValues) -> Exhibit:
    """Pixels from 0 to 1, the lowest and the highest that any pixel may have."""
    chosen = _spread(np.flatnonzero(np.isfinite(flat_rows(cells)).any(axis=1)), MAX_EXHIBIT_IMAGES)
    steps = [-(-length // MAX_EXHIBIT_SIDE) for length in truth.cell_shape[:2]]
    low, high = float(truth.lowest.min()), float(truth.highest.max())
    spread = high - low if high > low else 1.0
    true, guessed = ((rows[chosen][:, :: steps[0], :: steps[1]] - low) / spread for rows in (truth.values, cells))
    return Exhibit(true, guessed)
