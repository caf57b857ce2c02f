"""One line of a report: who tried what on whom, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

from fedleak.core.arrays import FloatArray, freeze
from fedleak.core.score import Score
from fedleak.core.secret import Secret


class Outcome(StrEnum):
    LEAK = "leak"
    NO_LEAK = "no_leak"
    NOT_IDENTIFIABLE = "not_identifiable"
    UNDETERMINED = "undetermined"
    SKIPPED = "skipped"
    ERRORED = "errored"


class Mode(StrEnum):
    PASSIVE = "passive"
    ACTIVE = "active"


class Severity(IntEnum):
    NONE = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3

    @property
    def label(self) -> str:
        return self.name.lower()


@dataclass(frozen=True)
class Theory:
    """The prediction that was made before the run."""

    verdict: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A few true and guessed values side by side, for the picture.

    Any shape: three or more axes are (images, height, width[, channels]) with pixels from 0 to 1. A
    cell that the attack did not guess is NaN.
    """

    true: FloatArray
    guessed: FloatArray

    def __post_init__(self) -> None:
        if self.true.shape != self.guessed.shape:
            raise ValueError(f"Exhibit guessed must have the shape {self.true.shape}; got {self.guessed.shape}")
        object.__setattr__(self, "true", freeze(self.true))
        object.__setattr__(self, "guessed", freeze(self.guessed))


@dataclass(frozen=True, eq=False)
class Finding:
    adversary: tuple[str, ...]
    mode: Mode
    attack: str
    secret: Secret
    defense: str | None
    outcome: Outcome
    why: str
    theory: Theory
    severity: Severity = Severity.NONE
    score: Score | None = None  # of the secret's main metric; None where nothing was measured
    further_scores: tuple[Score, ...] = ()
    cells_recovered: float | None = None
    evidence: tuple[tuple[str, str], ...] = ()
    exhibit: Exhibit | None = None
    seconds: float = 0.0
