"""What really was: for metrics alone. Attacks may not import this module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self, TypeVar

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray, Value, freeze, read_only
from fedleak.core.errors import RunError
from fedleak.core.payload import ModelSpec, Table


@dataclass(frozen=True, eq=False)
class SecretValues(Value):
    """The true cells of a secret: ``ids`` as in a guess, ``ranges`` the (low, high) of each cell of a row.

    A table names its columns. Rows of any other shape, such as images, have no names for their cells.
    ``sampled`` says which rows these are, where they are not all: a guess is then scored on them alone.
    """

    ids: IntArray
    columns: tuple[str, ...]
    values: FloatArray  # (rows, columns), or rows of any other shape
    ranges: FloatArray  # (columns, 2); of other rows (*shape, 2), or what numpy broadcasts to that
    sampled: str = ""

    def __post_init__(self) -> None:
        wanted = (len(self.ids), len(self.columns))
        if self.values.ndim < 3 and self.values.shape != wanted:
            raise ValueError(f"SecretValues of a table must be {wanted}; got {self.values.shape}")
        if self.values.ndim > 2 and (len(self.values) != len(self.ids) or self.columns):
            raise ValueError(
                f"SecretValues of rows that are no table must have {len(self.ids)} rows and no columns; got "
                f"{self.values.shape} and {len(self.columns)} columns"
            )
        if not self._has_ranges():
            raise ValueError(f"SecretValues ranges must be {(*self.cell_shape, 2)}; got {self.ranges.shape}")
        object.__setattr__(self, "ids", freeze(self.ids))
        object.__setattr__(self, "values", freeze(self.values))
        object.__setattr__(self, "ranges", freeze(self.ranges))

    @classmethod
    def spanning(cls, ids: IntArray, columns: tuple[str, ...], values: FloatArray) -> Self:
        """Of a table whose columns range over what they hold."""
        if not len(values):
            return cls(ids, columns, values, np.zeros((len(columns), 2)))
        return cls(ids, columns, values, np.column_stack([values.min(axis=0), values.max(axis=0)]))

    @property
    def absent(self) -> BoolArray:
        """Cells without a value, NaN: they can be neither guessed nor scored."""
        return np.isnan(self.values)

    def filled(self) -> Self:
        """With the middle of its column in place of every absent cell, for arithmetic over whole columns."""
        absent = self.absent
        if not absent.any():
            return self
        return replace(self, values=np.where(absent, (self.lowest + self.highest) / 2, self.values))

    @property
    def cell_shape(self) -> tuple[int, ...]:
        """Of one row: the number of columns, or height, width and channels."""
        return self.values.shape[1:]

    @property
    def is_table(self) -> bool:
        return self.values.ndim == 2

    @property
    def lowest(self) -> FloatArray:
        """Of each cell of a row."""
        return np.broadcast_to(self.ranges[..., 0], self.cell_shape)

    @property
    def highest(self) -> FloatArray:
        return np.broadcast_to(self.ranges[..., 1], self.cell_shape)

    def _has_ranges(self) -> bool:
        if self.is_table:
            return self.ranges.shape == (*self.cell_shape, 2)
        if not self.ranges.ndim or self.ranges.shape[-1] != 2 or self.ranges.ndim > self.values.ndim:
            return False
        lengths = zip(reversed(self.ranges.shape[:-1]), reversed(self.cell_shape), strict=False)
        return all(own in (1, wanted) for own, wanted in lengths)


@dataclass(frozen=True, eq=False)
class Served(Value):
    """The model that predicted the secret's rows, whole, with what went in and what came out.

    For metrics that judge a guess by what it does in the model, or beside what else the adversary sees.
    """

    model: ModelSpec
    inputs: Table  # all parties' columns, in the model's order
    confidences: FloatArray  # as released; a withheld row is NaN
    own: tuple[str, ...] = ()  # the adversary's columns among the inputs

    def __post_init__(self) -> None:
        if self.confidences.ndim != 2 or len(self.confidences) != len(self.inputs.ids):
            raise ValueError(f"Served confidences must have a row an input; got {self.confidences.shape}")
        object.__setattr__(self, "confidences", freeze(self.confidences))


KeptSecret = SecretValues | Callable[[], SecretValues]


@dataclass(frozen=True, eq=False)
class Truth:
    """What is larger than the data it follows from is kept as the way to compute it, and computed when it is asked."""

    secrets: Mapping[Secret, KeptSecret]
    served: Served | None = None  # where a model was served
    complete: bool = True  # False for somebody else's run: what is not among the secrets cannot be checked

    def __post_init__(self) -> None:
        object.__setattr__(self, "secrets", read_only(self.secrets))
        for secret, kept in self.secrets.items():
            if not callable(kept):
                _check_ids(secret, kept)

    def can_check(self, secret: Secret) -> bool:
        """A run of our own that lacks a secret is defective, and ``of`` says so; somebody else's just lacks it."""
        return self.complete or secret in self.secrets

    def of(self, secret: Secret) -> SecretValues:
        if secret not in self.secrets:
            raise RunError(f"the run kept no truth about {secret}; it has {[str(s) for s in self.secrets]}")
        kept = self.secrets[secret]
        if callable(kept):
            kept = kept()
            _check_ids(secret, kept)
        return kept

    def served_to(self, coalition: tuple[str, ...]) -> Served | None:
        """The predictions as this coalition met them: with its own columns named."""
        if self.served is None:
            return None
        features = [Secret(SecretKind.FEATURES, member) for member in coalition]
        held = [self.of(secret).columns for secret in features if secret in self.secrets]
        return replace(self.served, own=tuple(name for columns in held for name in columns))


Member = TypeVar("Member")
MAX_SUBSETS_OF = 6  # with more parties, only what single parties and single outsiders leave is kept


def groups_of(parties: Sequence[Member]) -> Iterator[tuple[Member, ...]]:
    """Those that a coalition may leave outside, and see as one."""
    sizes = range(1, len(parties) + 1) if len(parties) <= MAX_SUBSETS_OF else (1, len(parties) - 1, len(parties))
    for size in sizes:
        yield from combinations(parties, size)


def _check_ids(secret: Secret, values: SecretValues) -> None:
    misfit = secret.kind.indexed_by.misfit(values.ids.shape, len(values.values))
    if misfit:
        raise ValueError(f"the truth about {secret}: {misfit}")
