"""What an audit says: a figure with its baseline beside it, what came of one attempt, and all of them as a report.

The JSON, the HTML page and the terminal table are made of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from math import isfinite

from fedleak.core.adversary import Secret
from fedleak.core.arrays import FloatArray, Value, freeze
from fedleak.core.payload import ScalarValue


class Better(StrEnum):
    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class Score:
    """Finite throughout: a NaN beats no baseline, and would pass for "no leak". Without a figure there is no score."""

    metric: str
    value: float
    baseline: float  # the best that the knowledge alone gives
    better: Better
    ci: tuple[float, float]  # 95 %, of the value
    n: int  # cells that were scored

    def __post_init__(self) -> None:
        figures = (self.value, self.baseline, *self.ci)
        if not all(isfinite(figure) for figure in figures):
            raise ValueError(
                f"a score of {self.metric} must be finite; got {self.value:g}, baseline {self.baseline:g}, interval "
                f"{self.ci[0]:g} to {self.ci[1]:g}. A metric with nothing to measure answers None"
            )

    @property
    def gain(self) -> float:
        """How far the value is on the good side of the baseline."""
        difference = self.value - self.baseline
        return difference if self.better is Better.HIGHER else -difference

    @property
    def beats_baseline(self) -> bool:
        """The whole interval lies on the good side of the baseline."""
        low, high = self.ci
        return low > self.baseline if self.better is Better.HIGHER else high < self.baseline


class Outcome(StrEnum):
    LEAK = "leak"
    NO_LEAK = "no_leak"
    NOT_IDENTIFIABLE = "not_identifiable"
    UNDETERMINED = "undetermined"
    UNCHECKED = "unchecked"  # the attack answered, and there is no truth to hold the answer against
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
class Exhibit(Value):
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


@dataclass(frozen=True)
class Claim:
    """What the attack itself says of its answer, before anybody holds it against the truth."""

    status: str  # of the guess: recovered, partial, not_identifiable or undetermined
    n_cells: int  # that it gave a value for
    confidence: float | None = None  # mean over those cells, 0 to 1; None where the attack states none


@dataclass(frozen=True)
class ColumnResult:
    """How one column of the secret came out. ``None`` where nothing can be said of it."""

    column: str
    n: int  # cells that were scored
    error: float | None  # mean absolute, in shares of the column's range
    baseline_error: float | None  # the same of the best guess from the knowledge alone
    correlation: float | None  # of guessed with true values
    cells_recovered: float | None  # share to within 1 % of the range


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
    columns: tuple[ColumnResult, ...] = ()
    claim: Claim | None = None  # None where the attack gave no answer
    certificate: str = ""  # what in the view alone proves the answer; empty where nothing does
    evidence: tuple[tuple[str, str], ...] = ()
    exhibit: Exhibit | None = None
    seconds: float = 0.0

    @property
    def is_proved(self) -> bool:
        """No truth was there to check the answer, and none is needed: the view itself proves it."""
        return self.outcome is Outcome.UNCHECKED and bool(self.certificate)

    @property
    def is_shown(self) -> bool:
        """A leak that was measured, or that the view proves."""
        return self.outcome is Outcome.LEAK or self.is_proved


SCHEMA_VERSION = 1


@dataclass(frozen=True)
class RunSummary:
    """One run of the protocol: under which defense and deviation, and how good the model was."""

    defense: str | None
    deviation: str | None
    utility: Mapping[str, float]
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Report:
    scenario: Mapping[str, object]  # the scenario as resolved, JSON values only
    environment: Mapping[str, ScalarValue]
    runs: tuple[RunSummary, ...]
    findings: tuple[Finding, ...]
    advice: tuple[str, ...] = ()  # what to change, a sentence each, the most useful first
    for_other_protocols: tuple[str, ...] = ()  # attacks that this protocol never gives what they need

    @property
    def worst(self) -> Severity:
        return max((finding.severity for finding in self.findings), default=Severity.NONE)
