"""A table as its source gave it: named columns of numbers or texts, before any decision is taken."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np

from fedleak.core.arrays import AnyArray, freeze
from fedleak.core.errors import DataError


@dataclass(frozen=True, eq=False)
class RawColumn:
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


@dataclass(frozen=True, eq=False)
class RawTable:
    """Feature columns and, if the table has one, the target column. Row numbers are the ids."""

    source: str
    columns: tuple[RawColumn, ...]
    target: RawColumn | None = None

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
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    raise TypeError(f"a cell must be a number or a text; got {type(value).__name__}")
