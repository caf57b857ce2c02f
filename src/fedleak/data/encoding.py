"""A raw table to numbers, with every decision on record, and back to the source's own words.

Scaling is recorded column by column, so that it can be undone, also for what an attack has guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray, Value, freeze
from fedleak.core.errors import DataError, listed, nearest_or_list
from fedleak.core.knowledge import ColumnKind
from fedleak.core.whole.federation import Slice
from fedleak.data.column_encoding import ColumnEncoding, encode_column
from fedleak.data.label_encoding import LabelEncoding, encode_labels, rows_of_classes
from fedleak.data.raw_table import Pixels, RawColumn, RawTable, from_pandas
from fedleak.data.scaling import largest_row_norm, scale_columns
from fedleak.data.sources import load
from fedleak.data.spec import DataSpec, EncodingOptions, check_encoding_options

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class EncodedTable(Value):
    """Numbers (rows, columns), labels if any, and how both came about. ``ids`` are the source's row numbers."""

    source: str
    values: FloatArray
    ids: IntArray
    encoding: tuple[ColumnEncoding, ...]
    labels: AnyArray | None = None
    label_encoding: LabelEncoding | None = None
    scaling: str = "none"
    n_rows_dropped: int = 0  # for missing cells
    pixels: Pixels | None = None  # where the columns are whole pictures

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.ids), len(self.encoding)):
            raise ValueError(
                f"EncodedTable values must be {(len(self.ids), len(self.encoding))}; got {self.values.shape}"
            )
        if self.labels is not None and len(self.labels) != len(self.ids):
            raise ValueError(f"EncodedTable must have a label a row; got {len(self.labels)} for {len(self.ids)}")
        object.__setattr__(self, "values", freeze(self.values))
        object.__setattr__(self, "ids", freeze(self.ids))
        if self.labels is not None:
            object.__setattr__(self, "labels", freeze(self.labels))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(encoding.column for encoding in self.encoding)

    @property
    def source_columns(self) -> tuple[str, ...]:
        """The raw table's columns in order: what parties hold. One may stand behind several encoded columns."""
        return tuple(dict.fromkeys(encoding.source for encoding in self.encoding))

    @property
    def n_rows(self) -> int:
        return len(self.ids)

    @property
    def max_row_norm(self) -> float:
        """The largest 2-norm of a whole row."""
        return largest_row_norm(self.values)

    def positions_of(self, source_columns: tuple[str, ...]) -> tuple[int, ...]:
        """Positions of the encoded columns behind these raw columns, in the order in which they are named."""
        by_source: dict[str, list[int]] = {}
        for position, encoding in enumerate(self.encoding):
            by_source.setdefault(encoding.source, []).append(position)
        return tuple(position for name in source_columns for position in by_source[name])

    def rows(self, rows: IntArray, *, columns: tuple[int, ...] | None = None, with_labels: bool = True) -> Slice:
        """The given rows (by position) as a party's slice, with all columns or those at the given positions."""
        chosen = range(len(self.encoding)) if columns is None else columns
        labels = self.labels[rows] if with_labels and self.labels is not None else None
        return Slice(self.ids[rows], self.values[np.ix_(rows, np.array(chosen, dtype=np.int64))], labels)


def load_table(spec: DataSpec, *, folder: Path | None = None) -> EncodedTable:
    """The table that a scenario's ``[data]`` describes. Relative paths start at ``folder``."""
    check_encoding_options(spec)
    raw = load(spec.source, target=spec.target, drop=spec.drop, missing_marks=spec.missing_marks, folder=folder)
    return encode(raw, spec)


def encode_frame(frame: pd.DataFrame, spec: DataSpec) -> EncodedTable:
    """A table that is in memory already, read as the ``[data]`` of a scenario says; its ``source`` is a mere name."""
    check_encoding_options(spec)
    raw = from_pandas(frame, spec.target, name=spec.source, drop=spec.drop, missing_marks=spec.missing_marks)
    return encode(raw, spec)


def encode(raw: RawTable, options: EncodingOptions | None = None) -> EncodedTable:
    """Numbers from a raw table: choose rows, encode columns, scale, encode labels."""
    options = options or EncodingOptions()
    check_encoding_options(options)
    target = _needed_target(raw, options)
    rows, n_dropped = _chosen_rows(raw, target, options)
    for name in options.categorical_columns:
        if name not in raw.names:
            raise DataError(f"categorical_columns must be columns; got {name!r}{nearest_or_list(name, raw.names)}")
    encoded = [
        numeric
        for column in raw.columns
        for numeric in encode_column(
            RawColumn(column.name, column.values[rows]),
            as_categories=column.name in options.categorical_columns,
            missing=options.missing,
            mode=options.categorical,
        )
    ]
    _check_names(tuple(numeric.encoding.column for numeric in encoded))
    pixels = raw.pixels if raw.pixels is not None and raw.pixels.n_cells == len(encoded) else None
    peak = _peak(raw.source, pixels, options)
    values, unscaled = np.column_stack([numeric.values for numeric in encoded]), [one.encoding for one in encoded]
    del encoded  # as large as the table
    encodings = scale_columns(values, unscaled, options.scaling, peak)
    labels, label_encoding = (
        (None, None) if target is None else encode_labels(RawColumn(target.name, target.values[rows]), options)
    )
    return EncodedTable(
        source=raw.source,
        values=values,
        ids=rows,
        encoding=encodings,
        labels=labels,
        label_encoding=label_encoding,
        scaling=options.scaling,
        n_rows_dropped=n_dropped,
        pixels=pixels,
    )


def _peak(source: str, pixels: Pixels | None, options: EncodingOptions) -> float:
    """By what pixels are divided, where they are."""
    if not options.scaling.startswith("pixels"):
        return 1.0
    if pixels is None:
        raise DataError(
            f'scaling = "{options.scaling}" must be of whole images, bytes in an .npz file or "sklearn:digits"; '
            f"got {source}, which is a table"
        )
    return float(pixels.peak)


def _needed_target(raw: RawTable, options: EncodingOptions) -> RawColumn | None:
    if options.task == "none":
        return None
    if raw.target is None:
        raise DataError(
            f'target must name the column of labels of {raw.source} (task = "none" needs none); its columns are '
            f"{listed(raw.names)}"
        )
    return raw.target


def _chosen_rows(raw: RawTable, target: RawColumn | None, options: EncodingOptions) -> tuple[IntArray, int]:
    """Row numbers in ascending order, and how many were left out for missing cells."""
    keep = np.ones(raw.n_rows, dtype=bool)
    if target is not None and options.classes:
        keep &= rows_of_classes(target, options.classes)
    missing = np.zeros(raw.n_rows, dtype=bool)
    if options.missing == "drop":
        for column in (*raw.columns, *((target,) if target is not None else ())):
            missing |= column.missing
    elif target is not None:
        _check_labels_present(target)
    rows = np.flatnonzero(keep & ~missing).astype(np.int64)
    n_dropped = int((keep & missing).sum())
    if not len(rows):
        raise DataError(
            f'missing = "drop" must leave some rows of {raw.source}; all {n_dropped} have a missing cell. '
            'Set missing = "mean", or leave out the emptiest columns with drop'
        )
    if options.max_rows is not None and len(rows) > options.max_rows:
        rows = rows[np.arange(options.max_rows) * len(rows) // options.max_rows]
    return rows, n_dropped


def _check_labels_present(target: RawColumn) -> None:
    n_missing = int(target.missing.sum())
    if n_missing:
        raise DataError(
            f"target {target.name!r} must have no missing cells; got {n_missing} of {len(target.values)}. "
            'A label cannot be filled in: set missing = "drop"'
        )


def _check_names(columns: tuple[str, ...]) -> None:
    twice = [name for name, count in Counter(columns).items() if count > 1]
    if twice:
        raise DataError(
            f"encoded columns must have different names; one-hot encoding gives {twice[0]!r} twice. "
            'Rename the column in the source, or set categorical = "ordinal"'
        )


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
        RawColumn(source, _decoded_source_column([encodings[i] for i in positions], encoded[:, positions]))
        for source, positions in groups.items()
    )


def _decoded_source_column(encodings: Sequence[ColumnEncoding], encoded: FloatArray) -> AnyArray:
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
