"""What an adversary is declared to know of the victim beforehand."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, isfinite, prod

import numpy as np

from fedleak.core.adversary import Capability
from fedleak.core.arrays import AnyArray, BoolArray, FloatArray, IntArray, Value, freeze, positions_of
from fedleak.core.payload import UNLESS_GIVEN, Table


class ColumnKind(StrEnum):
    NUMERIC = "numeric"
    INTEGER = "integer"
    BINARY = "binary"


@dataclass(frozen=True)
class KnownColumn:
    """Type and range of one of a victim's columns; ``None`` where not known.

    With a ``step`` its values are its lowest one and whole multiples of the step above it, up to ``slack`` (decimals
    are not exact in binary): years, cents, codes, also after scaling.
    """

    owner: str
    column: str
    kind: ColumnKind | None = None
    low: float | None = None
    high: float | None = None
    step: float | None = None
    slack: float = 0.0

    def __post_init__(self) -> None:
        numbers = (self.low, self.high, self.step, self.slack)
        if any(number is not None and not isfinite(number) for number in numbers):
            raise ValueError(f"KnownColumn low, high, step and slack must be finite; got {numbers} of {self.column!r}")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"KnownColumn low must be at most high; got {self.low} and {self.high} of {self.column!r}")
        if (self.step is not None and self.step <= 0) or self.slack < 0:
            raise ValueError(
                f"KnownColumn step must be above 0 and slack 0 or more; got {self.step} and {self.slack} "
                f"of {self.column!r}"
            )


@dataclass(frozen=True, eq=False)
class KnownCells(Value):
    """Single cells of a victim's rows: row ids, columns, values. ``columns`` are positions within a row; in a row that
    is no table's, such as an image, its cells are counted in reading order. Values are right to ``within``: what people
    know of others' tables is rounded."""

    owner: str
    ids: IntArray
    columns: IntArray
    values: FloatArray
    within: float = field(default=0.0, metadata=UNLESS_GIVEN)

    def __post_init__(self) -> None:
        if not 0 <= self.within < inf:
            raise ValueError(f"KnownCells within must be 0 or more and finite; got {self.within}")
        shapes = {array.shape for array in (self.ids, self.columns, self.values)}
        if len(shapes) != 1 or self.ids.ndim != 1:
            raise ValueError(f"KnownCells ids, columns and values must be lists of one length; got shapes {shapes}")
        object.__setattr__(self, "ids", freeze(self.ids))
        object.__setattr__(self, "columns", freeze(self.columns))
        object.__setattr__(self, "values", freeze(self.values))


@dataclass(frozen=True, eq=False)
class KnownLabels(Value):
    """Labels of a few of a victim's rows: of customers that the adversary asked, or that it is itself."""

    owner: str
    ids: IntArray
    values: FloatArray

    def __post_init__(self) -> None:
        if self.ids.ndim != 1 or self.ids.shape != self.values.shape:
            shapes = f"{self.ids.shape} and {self.values.shape}"
            raise ValueError(f"KnownLabels ids and values must be lists of one length; got shapes {shapes}")
        object.__setattr__(self, "ids", freeze(self.ids))
        object.__setattr__(self, "values", freeze(self.values))


@dataclass(frozen=True, eq=False)
class PublicSample:
    """Rows of similar people, in the victim's columns."""

    owner: str
    rows: Table


@dataclass(frozen=True)
class Knowledge:
    cells: tuple[KnownCells, ...] = field(default=())
    columns: tuple[KnownColumn, ...] = field(default=())
    samples: tuple[PublicSample, ...] = field(default=())
    labels: tuple[KnownLabels, ...] = field(default=())

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it gives whoever has it, besides what the protocol reveals."""
        given = {
            Capability.KNOWN_CELLS: self.cells,
            Capability.PUBLIC_SAMPLE: self.samples,
            Capability.KNOWN_LABELS: self.labels,
        }
        return frozenset(capability for capability, what in given.items() if what)

    def cell_mask(self, owner: str, ids: AnyArray, cell_shape: tuple[int, ...]) -> BoolArray:
        """(rows, *cell shape), true where a cell of the owner's rows is known: such cells are never scored."""
        mask = np.zeros((len(ids), prod(cell_shape)), dtype=bool)
        position = positions_of(ids)
        for known in self.cells:
            if known.owner == owner:
                rows = np.array([position.get(int(row), -1) for row in known.ids], dtype=np.int64)
                mask[rows[rows >= 0], known.columns[rows >= 0]] = True
        return mask.reshape(len(ids), *cell_shape)

    def labels_of(self, owner: str, ids: AnyArray) -> FloatArray:
        """(rows,): the owner's label of each row as far as it is known beforehand, NaN elsewhere: such rows are never
        scored."""
        found, position = np.full(len(ids), np.nan), positions_of(ids)
        for known in self.labels:
            if known.owner == owner:
                rows = np.array([position.get(int(row), -1) for row in known.ids], dtype=np.int64)
                found[rows[rows >= 0]] = known.values[rows >= 0]
        return found
