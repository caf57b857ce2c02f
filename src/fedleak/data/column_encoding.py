"""One column from cells to numbers, with everything that was decided about it, and the steps in which it moves."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray
from fedleak.core.errors import DataError
from fedleak.core.knowledge import ColumnKind
from fedleak.data.raw_table import RawColumn, cell_text, is_number
from fedleak.data.spec import CategoricalMode, MissingPolicy

MAX_ONE_HOT_CATEGORIES = 1000
LARGEST_EXACT_INTEGER = 2**53  # beyond it a float64 skips integers


@dataclass(frozen=True)
class ColumnEncoding:
    """How one encoded column came about. ``low``, ``high`` and ``filled_with`` are in units before scaling, which for
    categories are their codes; encoded = (original - shift) / scale."""

    column: str
    source: str  # the column of the raw table; several encoded columns share it after one-hot encoding
    kind: ColumnKind
    low: float
    high: float
    categories: tuple[str, ...] = ()  # the texts behind the codes 0, 1, 2, ...
    level: str | None = None  # after one-hot encoding: the category for which this column is 1
    n_missing: int = 0
    filled_with: float | None = None
    shift: float = 0.0
    scale: float = 1.0

    @property
    def is_categorical(self) -> bool:
        return bool(self.categories)

    @property
    def is_constant(self) -> bool:
        return self.low == self.high

    @property
    def encoded_range(self) -> tuple[float, float]:
        """The range of the encoded values: what ``low`` and ``high`` become."""
        return (self.low - self.shift) / self.scale, (self.high - self.shift) / self.scale

    def decode(self, encoded: FloatArray) -> FloatArray:
        """Back to the units before scaling; categories stay codes."""
        return encoded * self.scale + self.shift


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """An encoded column before scaling."""

    values: FloatArray
    encoding: ColumnEncoding


def encode_column(
    column: RawColumn, *, as_categories: bool, missing: MissingPolicy, mode: CategoricalMode
) -> tuple[NumericColumn, ...]:
    """The one or more numeric columns of a raw column."""
    if column.is_text or as_categories:
        return _encode_categories(column, as_categories, missing, mode)
    numbers = _finite_numbers(column)
    absent = np.isnan(numbers)
    present = numbers[~absent]
    n_missing = _checked_missing(column.name, absent, missing)
    kind = _kind_of(present)
    fill = _fill_number(present, kind) if n_missing and missing != "keep" else None
    values = np.where(absent, fill, numbers) if fill is not None else numbers
    return (_numeric(values, column.name, kind, n_missing, fill),)


def _checked_missing(name: str, absent: AnyArray, missing: MissingPolicy) -> int:
    n_missing = int(absent.sum())
    if n_missing and missing == "error":
        raise DataError(
            f"column {name!r} must have no missing cells; got {n_missing} of {len(absent)}. "
            'Set missing = "mean" to fill them, missing = "drop" to leave those rows out, or missing = "keep"'
        )
    if n_missing == len(absent):
        raise DataError(f'column {name!r} must have some cells; got none at all. Leave it out with drop = ["{name}"]')
    return n_missing


def _finite_numbers(column: RawColumn) -> FloatArray:
    if column.values.dtype.kind in "iu" and len(column.values):
        extreme = max(abs(int(column.values.max())), abs(int(column.values.min())))
        if extreme > LARGEST_EXACT_INTEGER:
            raise DataError(
                f"column {column.name!r} must hold integers up to 2^53, beyond which they would be rounded; "
                f'got {extreme}. If it is an identifier, leave it out with drop = ["{column.name}"]'
            )
    numbers = column.values.astype(np.float64)
    n_infinite = int(np.isinf(numbers).sum())
    if n_infinite:
        raise DataError(
            f"column {column.name!r} must hold finite numbers; got {n_infinite} infinite cells. "
            "Correct them in the source, or leave them empty there to treat them as missing"
        )
    return numbers


def _kind_of(present: FloatArray) -> ColumnKind:
    is_integer = bool(np.all(present == np.rint(present)) and np.all(np.abs(present) <= LARGEST_EXACT_INTEGER))
    if not is_integer:
        return ColumnKind.NUMERIC
    return ColumnKind.BINARY if len(np.unique(present)) == 2 else ColumnKind.INTEGER


def _fill_number(present: FloatArray, kind: ColumnKind) -> float:
    """A filled column keeps its kind, so that what an adversary may be told of it stays true."""
    if kind is ColumnKind.BINARY:
        values, counts = np.unique(present, return_counts=True)
        return float(values[np.argmax(counts)])
    mean = float(np.mean(present))
    return float(np.rint(mean)) if kind is ColumnKind.INTEGER else mean


def _numeric(values: FloatArray, name: str, kind: ColumnKind, n_missing: int, fill: float | None) -> NumericColumn:
    encoding = ColumnEncoding(
        name, name, kind, float(np.nanmin(values)), float(np.nanmax(values)), n_missing=n_missing, filled_with=fill
    )
    return NumericColumn(values, encoding)


def _encode_categories(
    column: RawColumn, declared: bool, missing: MissingPolicy, mode: CategoricalMode
) -> tuple[NumericColumn, ...]:
    n_missing = _checked_missing(column.name, column.missing, missing)
    if not declared:
        _check_not_numbers_in_disguise(column)
    categories, codes = category_codes(column)
    fill = None
    if n_missing and missing != "keep":
        fill = float(np.argmax(np.bincount(codes[codes >= 0])))
        codes = np.where(codes < 0, int(fill), codes)
    numbers = np.where(codes < 0, np.nan, codes.astype(np.float64))
    kind = ColumnKind.BINARY if len(categories) == 2 else ColumnKind.INTEGER
    ordinal = _numeric(numbers, column.name, kind, n_missing, fill)
    ordinal = replace(ordinal, encoding=replace(ordinal.encoding, categories=categories))
    return (ordinal,) if mode == "ordinal" or len(categories) <= 2 else _one_hot(ordinal)


def category_codes(column: RawColumn) -> tuple[tuple[str, ...], AnyArray]:
    """The distinct values as texts, sorted (numbers by size), and each row's position in them (missing: -1)."""
    absent = column.missing
    distinct, inverse = np.unique(column.values[~absent], return_inverse=True)
    codes = np.full(len(absent), -1, dtype=np.int64)
    codes[~absent] = inverse
    return tuple(str(cell_text(value)) for value in distinct.tolist()), codes


def _one_hot(ordinal: NumericColumn) -> tuple[NumericColumn, ...]:
    encoding = ordinal.encoding
    if len(encoding.categories) > MAX_ONE_HOT_CATEGORIES:
        raise DataError(
            f"column {encoding.source!r} must have at most {MAX_ONE_HOT_CATEGORIES} categories for one-hot encoding; "
            f'got {len(encoding.categories)}. Set categorical = "ordinal", or drop = ["{encoding.source}"]'
        )
    hot = []
    for code, level in enumerate(encoding.categories):
        values = np.where(np.isnan(ordinal.values), np.nan, ordinal.values == code)
        one = replace(
            encoding, column=f"{encoding.source}={level}", kind=ColumnKind.BINARY, low=0.0, high=1.0, level=level
        )
        hot.append(NumericColumn(values, one))
    return tuple(hot)


def _check_not_numbers_in_disguise(column: RawColumn) -> None:
    """A column of numbers with a few other texts ("?", "n.k.") would silently become categories."""
    present = [str(cell) for cell in column.values if cell is not None]
    others = [text for text in present if not is_number(text)]
    if others and len(others) < len(present) / 2:
        raise DataError(
            f"column {column.name!r} must be numbers or categories; got {len(present) - len(others)} numbers and "
            f'{len(others)} other texts such as {others[0]!r}. Set missing_marks = ["{others[0]}"] if that means a '
            f'missing cell, or categorical_columns = ["{column.name}"]'
        )


MOST_STEPS = 2**24
MOST_PARTS = 1000  # the closest two values may be that many steps apart
# Of a value's place on the grid, in steps: what float64 leaves of a number with up to six digits before the point.
SLACK, SLACK_PER_STEP = 1e-9, 1e-12


@dataclass(frozen=True)
class ColumnStep:
    step: float
    slack: float  # how far from a whole number of steps above the lowest a value lies at most


def regular_step(values: FloatArray) -> ColumnStep | None:
    """The widest step of which all distances are whole multiples; none for a constant or a continuous column."""
    found = np.unique(values)
    span = float(found[-1] - found[0]) if len(found) else 0.0
    if not span > 0:
        return None
    gaps = span / np.diff(found).min()
    for parts in range(1, MOST_PARTS + 1):
        n_steps = round(gaps * parts)
        if n_steps > MOST_STEPS:
            return None
        places = (found - found[0]) / span * n_steps
        if np.abs(places - np.round(places)).max() <= SLACK + SLACK_PER_STEP * n_steps:
            on_grid = found[0] + np.round(places) / n_steps * span
            return ColumnStep(span / n_steps, float(np.abs(found - on_grid).max()))
    return None
