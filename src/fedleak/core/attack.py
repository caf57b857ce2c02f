"""An attack: a class with its metadata as attributes and one method that sees a view, nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.view import View


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
    deviation: ClassVar[str | None] = None  # the dishonest behaviour that it needs, by name
    preloads: ClassVar[tuple[str, ...]] = ()  # heavy packages that ``run`` imports, to be loaded once for all attempts

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
