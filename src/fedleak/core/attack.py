"""An attack: a class with its metadata as attributes and one method that sees a view, nothing else; and its guess."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

import numpy as np

from fedleak.core.adversary import Capability, Secret, SecretKind, Symmetry
from fedleak.core.arrays import FloatArray, IntArray, Value, freeze, read_only
from fedleak.core.facts import Facts
from fedleak.core.payload import ScalarValue
from fedleak.core.registry import faults_of
from fedleak.core.view import View
from fedleak.core.visible_text import one_line


class Verdict(StrEnum):
    EXACT = "exact"
    PARTIAL = "partial"
    IMPOSSIBLE = "impossible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Prediction:
    """What theory says an attack will achieve, with a reason a line."""

    verdict: Verdict
    reasons: tuple[str, ...]
    # Where it is unknown for these alone: all of them together would make it exact.
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reference:
    """Where a technique comes from: ``paper`` is a key such as hu2022, or "fedleak" for our own."""

    paper: str
    section: str


class Attack(ABC):
    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str]
    reference: ClassVar[Reference]
    requires: ClassVar[frozenset[Capability]]
    produces: ClassVar[SecretKind]
    up_to: ClassVar[frozenset[Symmetry]] = frozenset()
    measured_by: ClassVar[str | None] = None  # the metric that decides; the first of the secret's kind if None
    apart: ClassVar[bool] = False  # it tells parties apart that others know as one sum: each is a target of its own
    deviation: ClassVar[str | None] = None  # the dishonest behaviour that it needs, by name
    preloads: ClassVar[tuple[str, ...]] = ()  # heavy packages that ``run`` imports, to be loaded once for all attempts
    reads_bytes: ClassVar[bool] = False  # of ciphertexts, which only a run under the real cipher has
    controls: ClassVar[tuple[str, ...]] = ()  # scenario files beside its module that it provably wins

    _listener: Callable[[Guess], None] | None = None

    @abstractmethod
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        """Answer from the view alone."""

    def interim(self, guess: Guess) -> None:
        """Tell what is known so far: it counts where the attempt is ended from outside before ``run`` answers."""
        if self._listener is not None:
            self._listener(guess)

    def heard_by(self, listener: Callable[[Guess], None]) -> None:
        """Who takes interim guesses; for whoever runs the attack."""
        object.__setattr__(self, "_listener", listener)  # attacks with parameters are frozen dataclasses

    @classmethod
    @abstractmethod
    def predict(cls, facts: Facts) -> Prediction:
        """What theory expects in this situation, before anything runs."""


def faults_of_attack(found: object) -> list[str]:
    """What a class lacks to be an attack that an audit can plan; empty where nothing does."""
    needs = {"name": str, "summary": str, "reference": Reference, "requires": frozenset, "produces": SecretKind}
    faults = faults_of(found, Attack, {**needs, "up_to": frozenset, "preloads": tuple, "controls": tuple})
    for name, kind in (("requires", Capability), ("up_to", Symmetry)):
        if not faults and not all(isinstance(member, kind) for member in getattr(found, name)):
            faults.append(f"its {name} must hold members of {kind.__name__} alone; got {getattr(found, name)!r}")
    return faults


class Status(StrEnum):
    RECOVERED = "recovered"
    PARTIAL = "partial"
    NOT_IDENTIFIABLE = "not_identifiable"  # mathematics forbids it, and the attack can say why
    UNDETERMINED = "undetermined"  # a budget ended, or the evidence does not decide


@dataclass(frozen=True, eq=False)
class Guess(Value):
    """Values for the cells of one secret.

    ``ids`` has an id for each row of ``values``, with the parts that the secret's index has. A row is a table's, or of
    any other shape: an image's height, width and channels. A cell that the attack does not guess is NaN.
    ``candidates`` are equally good answers between which the view does not decide; their mean is scored, never the
    best of them.

    Labels are ranked by ``confidence``: of two classes it is 1/2 (no idea) to 1 (proved), and 1 where none is stated.
    """

    secret: Secret
    status: Status
    ids: IntArray
    values: FloatArray  # (rows, columns), or rows of any other shape
    intervals: FloatArray | None = None  # the same with a last axis of 2: low and high
    confidence: FloatArray | None = None  # as values: the probability that the value is right, 0 to 1
    candidates: tuple[FloatArray, ...] = ()
    evidence: Mapping[str, ScalarValue] = field(default_factory=dict)
    why: str = ""
    # What in the view alone proves the answer: a ciphertext that opens, a solution that is unique.
    certificate: str = ""

    def __post_init__(self) -> None:
        if self.values.ndim < 2 or len(self.ids) != len(self.values):
            raise ValueError(
                f"Guess values must be (rows, columns), or rows of any other shape, with an id a row; got "
                f"{self.values.shape} for {len(self.ids)} ids"
            )
        misfit = self.secret.kind.indexed_by.misfit(self.ids.shape, len(self.values))
        if misfit:
            raise ValueError(f"Guess of {self.secret.kind}: {misfit}")
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
        object.__setattr__(self, "evidence", read_only(self.evidence))

    def __repr__(self) -> str:
        rows = f"{len(self.values)} row{'' if len(self.values) == 1 else 's'}"
        told = f"{np.isfinite(self.values).sum()} of {self.values.size} cells"
        why = f", {one_line(self.why)}" if self.why else ""
        return f"<Guess of {one_line(str(self.secret))}: {self.status.value}, {told} in {rows}{why}>"
