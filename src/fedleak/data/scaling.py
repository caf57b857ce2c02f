"""Columns brought to one scale, in place and a part at a time: beside a large table nothing of its size is held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import DataError
from fedleak.data.column_encoding import ColumnEncoding
from fedleak.data.spec import ScalingName

CELLS_AT_ONCE = 1 << 22
FEWEST_COLUMNS = 2  # a single one would be added up in another order, to other last bits


def scale_columns(
    values: FloatArray, encodings: Sequence[ColumnEncoding], scaling: ScalingName, peak: float = 1.0
) -> tuple[ColumnEncoding, ...]:
    """Scales the table where it is; returns the encodings with their shift and scale. A constant column is shifted but
    never divided; a pixel is divided by ``peak`` whatever it is."""
    steps = scaling.split("+")
    with np.errstate(all="ignore"):  # extreme columns are reported by name below
        blocks = [_shift_and_scale(values[:, columns], steps, peak) for columns in _column_blocks(*values.shape)]
        shift, scale = np.concatenate(blocks, axis=1)
        _check_scales(shift, scale, encodings)
        if "max-row-norm" in steps:
            longest = _longest(lambda: (np.nan_to_num((part - shift) / scale, nan=0.0) for part in _parts(values)))
            scale = scale * (longest if longest > 0 else 1.0)
        for part in _parts(values):
            part -= shift
            part /= scale
        largest = np.maximum(np.nanmax(values, axis=0), -np.nanmin(values, axis=0))
        _check_scales(largest, scale, encodings)
    return tuple(replace(one, shift=float(shift[i]), scale=float(scale[i])) for i, one in enumerate(encodings))


def largest_row_norm(values: FloatArray) -> float:
    """The largest 2-norm of a row, without squaring numbers so small or large that their squares vanish."""
    return _longest(lambda: _parts(values))


def _longest(parts: Callable[[], Iterator[FloatArray]]) -> float:
    largest = max((float(np.max(np.abs(part), initial=0.0)) for part in parts()), default=0.0)
    if largest == 0.0:
        return 0.0
    units = (part / largest for part in parts())
    return largest * max(float(np.sqrt(np.max(np.einsum("ij,ij->i", unit, unit)))) for unit in units)


def _parts(values: FloatArray) -> Iterator[FloatArray]:
    """Views of the rows, so many at once."""
    n_rows = max(1, CELLS_AT_ONCE // max(values.shape[1], 1))
    return (values[start : start + n_rows] for start in range(0, len(values), n_rows))


def _column_blocks(n_rows: int, n_columns: int) -> list[slice]:
    n_blocks = int(np.clip(-(-n_rows * n_columns // CELLS_AT_ONCE), 1, max(n_columns // FEWEST_COLUMNS, 1)))
    edges = [n_columns * block // n_blocks for block in range(n_blocks + 1)]
    return [slice(start, end) for start, end in pairwise(edges)]


def _shift_and_scale(values: FloatArray, steps: Sequence[str], peak: float) -> FloatArray:
    """(2, columns)."""
    shift, scale = np.zeros(values.shape[1]), np.full(values.shape[1], peak)
    if "standard" in steps:
        shift, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    if "minmax" in steps:
        shift, scale = low, high - low
    if steps[0] in ("standard", "minmax"):
        shift, scale = np.where(low == high, low, shift), np.where(low == high, 1.0, scale)
    return np.stack([shift, scale])


def _check_scales(offset: FloatArray, scale: FloatArray, encodings: Sequence[ColumnEncoding]) -> None:
    usable = np.isfinite(offset) & np.isfinite(scale) & (scale > np.finfo(np.float64).tiny)
    for position in np.flatnonzero(~usable):
        encoding = encodings[int(position)]
        raise DataError(
            f"column {encoding.source!r} must have a range that can be scaled; got {encoding.low!r} to "
            f"{encoding.high!r}. Change its unit in the source"
        )
