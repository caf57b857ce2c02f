"""An attack: a class with its metadata as attributes and one method that sees a view, nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
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

    @abstractmethod
    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        """Answer from the view alone."""

    @classmethod
    @abstractmethod
    def predict(cls, facts: Facts) -> Prediction:
        """What theory expects in this situation, before anything runs."""
