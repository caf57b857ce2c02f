"""What an attack answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from fedleak.core.arrays import FloatArray, IntArray, freeze
from fedleak.core.payload import ScalarValue
from fedleak.core.secret import Secret


class Status(StrEnum):
    RECOVERED = "recovered"
    PARTIAL = "partial"
    NOT_IDENTIFIABLE = "not_identifiable"  # mathematics forbids it, and the attack can say why
    UNDETERMINED = "undetermined"  # a budget ended, or the evidence does not decide


@dataclass(frozen=True, eq=False)
class Guess:
    """Values for the cells of one secret.

    ``ids`` has a row for each row of ``values``: a row id, or (round, row id). A cell that the attack
    does not guess is NaN. ``candidates`` are equally good answers between which the view does not
    decide; their mean is scored, never the best of them.
    """

    secret: Secret
    status: Status
    ids: IntArray
    values: FloatArray  # (rows, columns)
    intervals: FloatArray | None = None  # (rows, columns, 2)
    confidence: FloatArray | None = None  # (rows, columns), 0 to 1
    candidates: tuple[FloatArray, ...] = ()
    evidence: Mapping[str, ScalarValue] = field(default_factory=dict)
    why: str = ""

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or len(self.ids) != len(self.values):
            raise ValueError(f"Guess values must be (rows, columns) with a row an id; got {self.values.shape}")
        beside = (("confidence", self.confidence, ()), ("intervals", self.intervals, (2,)))
        for name, array, ending in beside:
            if array is None:
                continue
            if array.shape != (*self.values.shape, *ending):
                raise ValueError(f"Guess {name} must have shape {(*self.values.shape, *ending)}; got {array.shape}")
            object.__setattr__(self, name, freeze(array))
        for candidate in self.candidates:
            if candidate.shape != self.values.shape:
                raise ValueError(f"Guess candidates must have the shape of values; got {candidate.shape}")
        object.__setattr__(self, "ids", freeze(self.ids))
        object.__setattr__(self, "values", freeze(self.values))
        object.__setattr__(self, "candidates", tuple(freeze(candidate) for candidate in self.candidates))
        object.__setattr__(self, "evidence", MappingProxyType(dict(self.evidence)))
