"""Encoded numbers back to a table in the source's own words: also for what an attack has guessed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import DataError
from fedleak.core.knowledge import ColumnKind
from fedleak.data.columns import ColumnEncoding
from fedleak.data.encoding import EncodedTable
from fedleak.data.raw import RawColumn


def decode(table: EncodedTable) -> tuple[RawColumn, ...]:
    """The raw columns behind an encoded table. Cells that were filled in stay filled."""
    return decode_cells(table.encoding, table.values)


def decode_cells(encodings: Sequence[ColumnEncoding], encoded: FloatArray) -> tuple[RawColumn, ...]:
    """Raw columns from encoded values (rows, len(encodings)): numbers in their unit, categories as texts.

    Values need not be exact: integers are rounded, a code becomes the nearest category, and of one-hot columns the
    largest wins.
    """
    if encoded.ndim != 2 or encoded.shape[1] != len(encodings):
        raise DataError(f"values to decode must have {len(encodings)} columns; got shape {encoded.shape}")
    groups: dict[str, list[int]] = {}
    for position, encoding in enumerate(encodings):
        groups.setdefault(encoding.source, []).append(position)
    return tuple(
        RawColumn(source, _decoded([encodings[i] for i in positions], encoded[:, positions]))
        for source, positions in groups.items()
    )


def _decoded(encodings: Sequence[ColumnEncoding], encoded: FloatArray) -> AnyArray:
    first = encodings[0]
    original = np.column_stack([encoding.decode(encoded[:, i]) for i, encoding in enumerate(encodings)])
    if first.level is not None:
        levels = np.array([encoding.level for encoding in encodings], dtype=object)
        winners: AnyArray = levels[np.argmax(original, axis=1)]
        return winners
    numbers = original[:, 0]
    if first.is_categorical:
        codes = np.clip(np.rint(numbers), 0, len(first.categories) - 1).astype(np.int64)
        texts: AnyArray = np.array(first.categories, dtype=object)[codes]
        return texts
    if first.kind is ColumnKind.BINARY:
        return np.where(numbers - first.low < first.high - numbers, first.low, first.high)
    return np.rint(numbers) if first.kind is ColumnKind.INTEGER else numbers
