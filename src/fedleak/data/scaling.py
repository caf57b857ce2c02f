"""Scaling of a whole table, recorded column by column so that it can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.errors import DataError
from fedleak.data.columns import ColumnEncoding
from fedleak.data.spec import ScalingName


def scale_columns(
    values: FloatArray, encodings: Sequence[ColumnEncoding], scaling: ScalingName
) -> tuple[FloatArray, tuple[ColumnEncoding, ...]]:
    """The scaled table and the encodings with their shift and scale. A constant column is shifted but never divided."""
    steps = scaling.split("+")
    shift, scale = np.zeros(values.shape[1]), np.ones(values.shape[1])
    with np.errstate(all="ignore"):  # extreme columns are reported by name below
        if "standard" in steps:
            shift, scale = values.mean(axis=0), values.std(axis=0)
        elif "minmax" in steps:
            shift, scale = values.min(axis=0), np.ptp(values, axis=0)
        constant = values.min(axis=0) == values.max(axis=0)
        if steps[0] in ("standard", "minmax"):
            shift, scale = np.where(constant, values[0], shift), np.where(constant, 1.0, scale)
        _check_scales(shift, scale, encodings)
        scaled = (values - shift) / scale
        if "max-row-norm" in steps:
            longest = largest_row_norm(scaled)
            scale = scale * (longest if longest > 0 else 1.0)
            scaled = (values - shift) / scale
        _check_scales(np.abs(scaled).max(axis=0), scale, encodings)
    return scaled, tuple(
        replace(encoding, shift=float(shift[i]), scale=float(scale[i])) for i, encoding in enumerate(encodings)
    )


def largest_row_norm(values: FloatArray) -> float:
    """The largest 2-norm of a row, without squaring numbers so small or large that their squares vanish."""
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest == 0.0:
        return 0.0
    unit = values / largest
    return largest * float(np.sqrt(np.max(np.einsum("ij,ij->i", unit, unit))))


def _check_scales(offset: FloatArray, scale: FloatArray, encodings: Sequence[ColumnEncoding]) -> None:
    usable = np.isfinite(offset) & np.isfinite(scale) & (scale > np.finfo(np.float64).tiny)
    for position in np.flatnonzero(~usable):
        encoding = encodings[int(position)]
        raise DataError(
            f"column {encoding.source!r} must have a range that can be scaled; got {encoding.low!r} to "
            f"{encoding.high!r}. Change its unit in the source"
        )
