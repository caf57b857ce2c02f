"""A table as its source gave it: named columns of numbers or texts, before any decision is taken.

Pandas frames and NumPy arrays that are already in memory become one directly; files are read into one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np

from fedleak.core.arrays import AnyArray, Value, freeze
from fedleak.core.errors import DataError, nearest_or_list

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RawColumn(Value):
    """Numbers with NaN where missing, or an object array of ``str`` with ``None`` where missing."""

    name: str
    values: AnyArray

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.dtype.kind not in "iufO":
            raise ValueError(
                f"RawColumn values must be a vector of numbers or texts; got {self.values.ndim}-d {self.values.dtype}"
            )
        object.__setattr__(self, "values", freeze(self.values))

    @property
    def is_text(self) -> bool:
        return bool(self.values.dtype == object)

    @property
    def missing(self) -> AnyArray:
        """True where a cell is missing."""
        if self.is_text:
            return np.array([cell is None for cell in self.values], dtype=bool)
        return np.isnan(self.values) if self.values.dtype.kind == "f" else np.zeros(len(self.values), dtype=bool)


@dataclass(frozen=True)
class Pixels:
    """How the columns of a table of images lie in a picture, in reading order, and the highest that a pixel may be."""

    shape: tuple[int, int, int]  # height, width, channels
    peak: int

    @property
    def n_cells(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class RawTable:
    """Feature columns and, if the table has one, the target column. Row numbers are the ids."""

    source: str
    columns: tuple[RawColumn, ...]
    target: RawColumn | None = None
    pixels: Pixels | None = None  # where the columns are whole pictures
    notes: tuple[str, ...] = ()  # how cells were read, where that is not plain

    def __post_init__(self) -> None:
        if not self.columns:
            raise DataError(f"a table must have at least one feature column; {self.source} has none")
        lengths = {len(column.values) for column in self.columns}
        if self.target is not None:
            lengths.add(len(self.target.values))
        if len(lengths) != 1:
            raise DataError(f"columns of {self.source} must have one length; got {sorted(lengths)}")
        if self.n_rows == 0:
            raise DataError(f"a table must have at least one row; {self.source} has none below its header")

    @property
    def n_rows(self) -> int:
        return len(self.columns[0].values)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def cell_text(value: object) -> str | None:
    """The one way in which a cell is written as a category or a class: ``1``, not ``1.0``; ``true``, not ``True``."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Integral):
        return _digits(int(value))
    if isinstance(value, Real):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    raise TypeError(f"a cell must be a number or a text; got {type(value).__name__}")


def _digits(number: int) -> str:
    """Python refuses to write out thousands of digits."""
    try:
        return str(number)
    except ValueError:
        return hex(number)


def from_pandas(
    frame: pd.DataFrame,
    target: str | None = None,
    *,
    name: str = "frame",
    drop: Collection[str] = (),
    missing_marks: Collection[str] = (),
) -> RawTable:
    """A raw table from a frame. ``drop`` leaves columns out; texts in ``missing_marks`` count as missing."""
    names = checked_names([str(column) for column in frame.columns], name)
    check_known(names, target=target, drop=drop, source=name)
    kept = [
        _column_of(label, frame.iloc[:, position], missing_marks)
        for position, label in enumerate(names)
        if label not in drop
    ]
    return RawTable(
        source=name,
        columns=tuple(column for column in kept if column.name != target),
        target=next((column for column in kept if column.name == target), None),
    )


def from_arrays(
    X: AnyArray,
    y: AnyArray | None = None,
    names: Sequence[str] | None = None,
    *,
    target: str = "target",
    name: str = "arrays",
    drop: Collection[str] = (),
) -> RawTable:
    """A raw table from a matrix of numbers (rows first) and a vector of labels (numbers or texts)."""
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(f"X must be a matrix of numbers; got {X.ndim} dimensions of {X.dtype}")
    if y is not None and y.shape != (len(X),):
        raise DataError(f"y must be a vector of {len(X)} labels, one for each row of X; got shape {y.shape}")
    labels = checked_names([f"x{i}" for i in range(X.shape[1])] if names is None else list(names), name)
    if len(labels) != X.shape[1]:
        raise DataError(f"names must name the {X.shape[1]} columns of X; got {len(labels)}")
    check_known((*labels, target) if y is not None else labels, target=None, drop=drop, source=name)
    if y is not None and target in labels:
        raise DataError(f"target must not be the name of a column of X; got {target!r}")
    numbers = X.astype(np.uint8) if X.dtype.kind == "b" else X
    return RawTable(
        source=name,
        columns=tuple(RawColumn(label, numbers[:, i]) for i, label in enumerate(labels) if label not in drop),
        target=None if y is None else RawColumn(target, _label_values(y)),
    )


def checked_names(names: Sequence[str], source: str) -> tuple[str, ...]:
    """Column names without surrounding blanks, each present once."""
    stripped = [name.strip() for name in names]
    for position, name in enumerate(stripped, start=1):
        if not name:
            raise DataError(
                f"every column must have a name; column {position} of {source} has none "
                "(a row index that was saved with the table? save it without, or name the column)"
            )
    twice = [name for name, count in Counter(stripped).items() if count > 1]
    if twice:
        raise DataError(
            f"column names must differ; {source} has {', '.join(map(repr, twice))} more than once; rename them"
            f"{_without_header(stripped)}"
        )
    return tuple(stripped)


def _without_header(names: Collection[str]) -> str:
    """Nobody calls all columns by numbers."""
    return ". Its first line must name the columns, and has numbers" if all(map(is_number, names)) else ""


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_known(names: Collection[str], *, target: str | None, drop: Collection[str], source: str) -> None:
    if target is not None and target not in names:
        known = nearest_or_list(target, names)
        raise DataError(f"target must be a column of {source}; got {target!r}{known}{_without_header(names)}")
    for column in drop:
        if column not in names:
            raise DataError(f"drop must name columns of {source}; got {column!r}{nearest_or_list(column, names)}")
    if target is not None and target in drop:
        raise DataError(f"target must not be dropped; got {target!r} as target and in drop")


def _label_values(y: AnyArray) -> AnyArray:
    return y if y.dtype.kind in "iuf" else _texts(y.tolist(), "y", ())


def _column_of(name: str, series: pd.Series, missing_marks: Collection[str]) -> RawColumn:
    from pandas.api import types

    dtype = series.dtype
    if types.is_bool_dtype(dtype) or isinstance(dtype, _categorical_type()):
        return RawColumn(name, _texts(series.astype(object).tolist(), name, missing_marks))
    if types.is_integer_dtype(dtype) and not series.isna().any():
        return RawColumn(name, series.to_numpy(dtype=np.uint64 if types.is_unsigned_integer_dtype(dtype) else np.int64))
    if types.is_integer_dtype(dtype) or types.is_float_dtype(dtype):
        return RawColumn(name, series.to_numpy(dtype=np.float64, na_value=np.nan))
    if types.is_object_dtype(dtype) or types.is_string_dtype(dtype):
        return RawColumn(name, _objects(series.astype(object).tolist(), name, missing_marks))
    raise DataError(
        f"column {name!r} must hold numbers or texts; got {dtype}. Convert it to a number beforehand, "
        f'or leave it out with drop = ["{name}"]'
    )


def _categorical_type() -> type:
    import pandas as pd

    return pd.CategoricalDtype


def _objects(cells: list[object], name: str, missing_marks: Collection[str]) -> AnyArray:
    """Numbers if every present cell is one, texts otherwise."""
    present = [cell for cell in cells if not _is_missing(cell)]
    if present and all(isinstance(cell, Real | Decimal) and not isinstance(cell, bool | np.bool_) for cell in present):
        try:
            return np.array([np.nan if _is_missing(cell) else float(cell) for cell in cells])  # type: ignore[arg-type]
        except OverflowError as error:
            raise DataError(
                f"column {name!r} must hold numbers up to 1.8e308; got one that is larger. "
                f'Leave the column out with drop = ["{name}"]'
            ) from error
    return _texts(cells, name, missing_marks)


def _texts(cells: list[object], name: str, missing_marks: Collection[str]) -> AnyArray:
    texts = np.empty(len(cells), dtype=object)
    for row, cell in enumerate(cells):
        try:
            text = None if _is_missing(cell) else cell_text(cell)
        except TypeError as error:
            raise DataError(
                f"column {name!r} must hold numbers or texts; row {row} has a {type(cell).__name__}. "
                f'Leave the column out with drop = ["{name}"]'
            ) from error
        texts[row] = None if text in missing_marks else text
    return texts


def _is_missing(cell: object) -> bool:
    import pandas as pd

    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and cell != cell)
