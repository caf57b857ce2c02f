"""A frame as people have it, in numbers that an audit can measure, and back into what the model was fitted on.

Numbers stay as they are. A column with missing cells gets a column beside it that says which are missing. Of categories
and texts the adversary's own become a column a level, so that a model that is linear in them is read as one; hidden
ones become the number of their level: whoever may ask the model knows which levels there are, not whose they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.errors import InputError, nearest_or_list

if TYPE_CHECKING:
    import pandas as pd

MOST_LEVELS_APART = 200  # of a column that gets a column a level
NUMBERS, LEVELS, LEVELS_APART = "numbers", "levels", "levels apart"


@dataclass(frozen=True, eq=False)
class Source:
    """One column of the frame: how it was written as numbers."""

    name: str
    form: str
    dtype: Any
    has_missing: bool
    fill: float = 0.0  # stands where a number is missing
    levels: tuple[Any, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        if self.form == LEVELS_APART:
            return tuple(f"{self.name}={level}" for level in self._all_levels)
        return (self.name, f"{self.name} is missing") if self.form == NUMBERS and self.has_missing else (self.name,)

    @property
    def _all_levels(self) -> tuple[Any, ...]:
        return (*self.levels, "missing") if self.has_missing else self.levels

    def encode(self, column: pd.Series) -> FloatArray:
        missing = column.isna().to_numpy(dtype=bool)
        if self.form == NUMBERS:
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            filled = np.where(missing, self.fill, values)
            return np.column_stack([filled, missing]) if self.has_missing else filled[:, None]
        place = {level: code for code, level in enumerate(self.levels)}
        codes = np.array(
            [len(self.levels) if gone else place[cell] for cell, gone in zip(column, missing, strict=True)],
            dtype=np.int64,
        )
        apart = np.eye(len(self._all_levels))[codes] if self.form == LEVELS_APART else codes[:, None]
        return np.asarray(apart, dtype=np.float64)

    def decode(self, values: FloatArray) -> Any:
        import pandas as pd

        if self.form == NUMBERS:
            numbers = values[:, 0] if not self.has_missing else np.where(values[:, 1] > 0.5, np.nan, values[:, 0])
            return pd.Series(numbers)
        codes = self._codes(values)
        if isinstance(self.dtype, pd.CategoricalDtype):
            known = [None if code >= len(self.levels) else self.levels[code] for code in codes]
            return pd.Series(pd.Categorical(known, dtype=self.dtype))
        cells = np.array([*self.levels, None], dtype=object)[codes]
        return pd.Series(cells, dtype=object if self.has_missing else self.dtype)

    def _codes(self, values: FloatArray) -> IntArray:
        if self.form == LEVELS_APART:
            return np.asarray(np.argmax(values, axis=1), dtype=np.int64)
        return np.asarray(np.clip(np.rint(values[:, 0]), 0, len(self._all_levels) - 1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ModelTable:
    sources: tuple[Source, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column for source in self.sources for column in source.columns)

    @property
    def is_plain(self) -> bool:
        """Numbers alone, none missing: the model takes the table as it is."""
        return all(source.form == NUMBERS and not source.has_missing for source in self.sources)

    def columns_from(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(column for source in self.sources if source.name in set(names) for column in source.columns)

    def encode(self, frame: pd.DataFrame) -> FloatArray:
        return np.hstack([source.encode(frame[source.name]) for source in self.sources])

    def decode(self, rows: AnyArray) -> pd.DataFrame:
        import pandas as pd

        found, start = {}, 0
        for source in self.sources:
            end = start + len(source.columns)
            found[source.name] = source.decode(np.asarray(rows[:, start:end], dtype=np.float64))
            start = end
        return pd.DataFrame(found)


def table_of(frame: pd.DataFrame, hidden: Sequence[str], inputs: Sequence[str]) -> ModelTable:
    """How the model's inputs, in the order in which it takes them, are written as numbers."""
    missing = [name for name in inputs if name not in set(frame.columns)]
    if missing:
        raise InputError(
            f"rows must have the model's input {missing[0]!r}{nearest_or_list(missing[0], list(frame.columns))}"
        )
    if len(set(frame.columns)) != len(frame.columns) or len(frame.columns) != len(inputs):
        raise InputError(f"rows must have each of the model's {len(inputs)} inputs once; got {len(frame.columns)}")
    return ModelTable(tuple(_source(frame[name], str(name), str(name) in set(hidden)) for name in inputs))


def _source(column: pd.Series, name: str, hidden: bool) -> Source:
    import pandas as pd

    has_missing = bool(column.isna().any())
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any() or np.isnan(values).all():
            raise InputError(f"column {name!r} must hold finite numbers, and some that are not missing")
        return Source(name, NUMBERS, column.dtype, has_missing, fill=float(np.nanmedian(values)))
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        raise InputError(f"column {name!r} must hold numbers, categories or texts; got dates: make them numbers first")
    levels = tuple(sorted(column.dropna().unique().tolist(), key=str))
    if not levels:
        raise InputError(f"column {name!r} must have cells that are not missing; got none")
    apart = not hidden and 2 < len(levels) <= MOST_LEVELS_APART
    return Source(name, LEVELS_APART if apart else LEVELS, column.dtype, has_missing, levels=levels)
