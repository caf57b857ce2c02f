"""NumPy archives and Parquet files (by the optional package pyarrow), without pickle and within a bound.

Both declare their sizes in headers, which are checked before any array is allocated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedleak.core.arrays import AnyArray
from fedleak.core.errors import DataError, FileFormatError, MissingExtraError, nearest_or_list
from fedleak.data.raw_table import Pixels, RawTable, from_arrays
from fedleak.data.sources import text_files
from fedleak.storage.npz_archive import read_archive

if TYPE_CHECKING:
    import pandas as pd

_COLUMN_NAMES = ("columns", "names", "marker")
_TARGET_NAMES = ("targets", "env")
PEAK_BYTE = 255


def read_arrays(path: Path) -> Mapping[str, AnyArray]:
    """Every array of the archive. Sizes are checked from the headers before any array is allocated."""
    try:
        return read_archive(path, text_files.MAX_FILE_BYTES)
    except FileFormatError as error:
        raise DataError(str(error)) from error


def samples(path: Path, arrays: Mapping[str, AnyArray]) -> tuple[AnyArray, AnyArray | None, int]:
    """Rows, labels and how many rows are for training, from ``x, y`` or ``x_train, y_train, x_test, y_test``."""
    if "x" in arrays:
        rows, labels = arrays["x"], arrays.get("y")
        n_train = len(rows)
    elif {"x_train", "x_test"} <= arrays.keys():
        rows = _joined(path, arrays, "x")
        labels = _joined(path, arrays, "y") if {"y_train", "y_test"} <= arrays.keys() else None
        n_train = len(arrays["x_train"])
    else:
        raise DataError(
            f"{path} must hold the arrays x and y, or x_train, y_train, x_test and y_test; "
            f"it holds {', '.join(arrays) or 'nothing'}"
        )
    if rows.ndim < 2 or rows.dtype.kind not in "biuf":
        raise DataError(f"x of {path} must be numbers, rows first; got {rows.ndim} dimensions of {rows.dtype}")
    if labels is not None and len(labels) != len(rows):
        raise DataError(f"y of {path} must have a label for each of the {len(rows)} rows; got {len(labels)}")
    return rows, labels, n_train


def pixel_names(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the cells of an image: row, column and, in colour, channel."""
    letters = ("r", "c", "ch")
    return tuple("".join(f"{k}{i}" for k, i in zip(letters, at, strict=False)) for at in np.ndindex(shape))


def read_npz_table(path: Path, *, name: str, target: str | None, drop: Collection[str]) -> RawTable:
    """A table from an archive: images are flattened; of several label columns only the target is kept."""
    arrays = read_arrays(path)
    rows, labels, _ = samples(path, arrays)
    columns = _names(path, arrays, _COLUMN_NAMES)
    pixels = None
    if columns is None and 3 <= rows.ndim <= 4:
        columns = list(pixel_names(rows.shape[1:]))
        pixels = _pixels(rows) if not drop else None
    label_name, chosen = _chosen_labels(path, arrays, labels, target)
    matrix = rows.reshape(len(rows), -1)
    return replace(from_arrays(matrix, chosen, columns, target=label_name, name=name, drop=drop), pixels=pixels)


def _names(path: Path, arrays: Mapping[str, AnyArray], keys: Collection[str]) -> list[str] | None:
    """Of columns, under the first of the keys that is there."""
    key = next((key for key in keys if key in arrays), None)
    if key is None:
        return None
    found = arrays[key]
    if found.ndim != 1:
        raise DataError(f"{key} of {path} must be a list of names; got {found.ndim} dimensions of {found.dtype}")
    return [name.decode("latin-1") if isinstance(name, bytes) else str(name) for name in found.tolist()]


def _pixels(images: AnyArray) -> Pixels | None:
    """Bytes are pictures; other numbers may be anything."""
    if images.dtype != np.uint8:
        return None
    height, width, channels = (*images.shape[1:], 1)[:3]
    return Pixels((height, width, channels), PEAK_BYTE)


def _chosen_labels(
    path: Path, arrays: Mapping[str, AnyArray], labels: AnyArray | None, target: str | None
) -> tuple[str, AnyArray | None]:
    if labels is None:
        if target is not None:
            raise DataError(f"target must be left out for {path}, which holds no labels; got {target!r}")
        return "y", None
    if labels.ndim == 1:
        by_name = {"y": labels}
    else:
        flat = labels.reshape(len(labels), -1)
        given = _names(path, arrays, _TARGET_NAMES) or []
        suffixes: Sequence[object] = given if len(given) == flat.shape[1] else range(flat.shape[1])
        by_name = {f"y_{suffix}": flat[:, i] for i, suffix in enumerate(suffixes)}
    if target is None:
        return ("y", labels) if labels.ndim == 1 else ("y", None)
    if target not in by_name:
        raise DataError(f"target must be a label column of {path}; got {target!r}{nearest_or_list(target, by_name)}")
    return target, by_name[target]


def _joined(path: Path, arrays: Mapping[str, AnyArray], letter: str) -> AnyArray:
    train, test = arrays[f"{letter}_train"], arrays[f"{letter}_test"]
    if train.shape[1:] != test.shape[1:]:
        raise DataError(
            f"{letter}_train and {letter}_test of {path} must have rows of one shape; "
            f"got {train.shape[1:]} and {test.shape[1:]}"
        )
    return np.concatenate([train, test])


def read_parquet(path: Path) -> pd.DataFrame:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError.of("pyarrow", "parquet", f"reading {path}") from error
    try:
        with pq.ParquetFile(path) as file:
            _check_parquet_size(path, file.metadata)
            table = file.read()
        table.validate(full=True)  # texts that are not UTF-8 would otherwise surface wherever they are first looked at
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path} must be a Parquet file; got: {first_line}") from error
    return frame


def _check_parquet_size(path: Path, metadata: object) -> None:
    """Before anything is decompressed: the sizes that the file declares, and a cell count, since a run of equal cells
    takes next to nothing in the file but eight bytes each in memory."""
    n_groups: int = metadata.num_row_groups  # type: ignore[attr-defined]
    n_bytes = sum(metadata.row_group(i).total_byte_size for i in range(n_groups))  # type: ignore[attr-defined]
    n_cells: int = metadata.num_rows * metadata.num_columns  # type: ignore[attr-defined]
    if max(n_bytes, 8 * n_cells) > text_files.MAX_FILE_BYTES:
        raise DataError(
            f"{path} must hold at most {text_files.MAX_FILE_BYTES:,} bytes once decompressed; "
            f"it declares {max(n_bytes, 8 * n_cells):,}. Give a sample of its rows"
        )
