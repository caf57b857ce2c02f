"""What an audit says: a figure with its baseline beside it, what came of one attempt, and all of them as a report.

The JSON, the HTML page and the terminal table are made of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from math import isfinite

from fedleak.core.adversary import Secret
from fedleak.core.arrays import FloatArray, Value, freeze
from fedleak.core.described import meaning
from fedleak.core.display import Tabular, one_line
from fedleak.core.payload import ScalarValue


class Better(StrEnum):
    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True)
class Score:
    """Finite throughout: a NaN beats no baseline, and would pass for "no leak". Without a figure there is no score."""

    metric: str = field(metadata=meaning("what was measured"))
    value: float = field(metadata=meaning("the figure that the attack reached"))
    baseline: float = field(metadata=meaning("the best that a blind answer gives: prior knowledge, and no message"))
    better: Better = field(metadata=meaning("which way is better for the attack"))
    ci: tuple[float, float] = field(metadata=meaning("interval of the value, 95 %: low and high"))
    n: int = field(metadata=meaning("cells that were scored", least=0))
    gain_ci: tuple[float, float] | None = field(
        default=None,
        metadata=meaning("interval of the gain over the baseline, row by row, 95 %; null where not paired"),
    )
    p_value: float | None = field(
        default=None, metadata=meaning("how likely luck alone gets so far; null where not tested", least=0, most=1)
    )

    def __post_init__(self) -> None:
        figures = (self.value, self.baseline, *self.ci, *(self.gain_ci or ()))
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
        """The whole interval lies on the good side of the baseline: of the gain where rows were paired."""
        if self.gain_ci is not None:
            return self.gain_ci[0] > 0
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

    verdict: str = field(metadata=meaning("exact, partial, impossible or unknown"))
    reasons: tuple[str, ...] = field(metadata=meaning("the conditions that it rests on, a sentence each"))


@dataclass(frozen=True, eq=False)
class Exhibit(Value):
    """A few true and guessed values side by side, for the picture.

    Any shape: three or more axes are (images, height, width[, channels]) with pixels from 0 to 1. A
    cell that the attack did not guess is NaN.
    """

    true: FloatArray = field(metadata=meaning("true values of the data owner"))
    guessed: FloatArray = field(metadata=meaning("what the attack made of them, in the same shape"))

    def __post_init__(self) -> None:
        if self.true.shape != self.guessed.shape:
            raise ValueError(f"Exhibit guessed must have the shape {self.true.shape}; got {self.guessed.shape}")
        object.__setattr__(self, "true", freeze(self.true))
        object.__setattr__(self, "guessed", freeze(self.guessed))


@dataclass(frozen=True)
class Claim:
    """What the attack itself says of its answer, before anybody holds it against the truth."""

    status: str = field(metadata=meaning("of the guess: recovered, partial, not_identifiable or undetermined"))
    n_cells: int = field(metadata=meaning("cells that the attack gave a value for", least=0))
    confidence: float | None = field(
        default=None, metadata=meaning("mean over those cells; null where the attack states none", least=0, most=1)
    )


@dataclass(frozen=True)
class ColumnResult:
    """How one column of the secret came out. ``None`` where nothing can be said of it."""

    column: str = field(metadata=meaning("its name"))
    n: int = field(metadata=meaning("cells that were scored", least=0))
    error: float | None = field(metadata=meaning("mean absolute error, in shares of the column's range"))
    baseline_error: float | None = field(metadata=meaning("the same of the best guess from prior knowledge alone"))
    correlation: float | None = field(metadata=meaning("of guessed with true values"))
    cells_recovered: float | None = field(
        metadata=meaning("share of the cells to within 1 % of the range", least=0, most=1)
    )
    learnt: float | None = field(
        default=None,
        metadata=meaning(
            "how far from a blind answer to the truth: by error, by cells recovered or by squared correlation, "
            "whichever says most",
            least=0,
            most=1,
        ),
    )
    p_value: float | None = field(
        default=None, metadata=meaning("how likely luck alone gets so far in this column", least=0, most=1)
    )
    leaks: bool = field(
        default=False, metadata=meaning("whether this column leaks, corrected for the number of columns (Holm)")
    )


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
    p_value: float | None = None  # how likely luck alone gets so far, over all columns; None where nothing was tested
    p_corrected: float | None = None  # the same, for all attacks on this secret by this adversary (Holm)
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

    @property
    def leaking_columns(self) -> tuple[str, ...]:
        """By name, in the table's order."""
        return tuple(column.column for column in self.columns if column.leaks)

    def __repr__(self) -> str:
        return f"<Finding {self.in_words()}>"

    def in_words(self) -> str:
        """One line: who, by which attack, on what, and what came of it."""
        under = f" under {self.defense}" if self.defense else ""
        graded = f" ({self.severity.label})" if self.severity else ""
        measured = "" if self.score is None else _figures(self.score)
        who = " + ".join(self.adversary)
        return one_line(f"{self.attack} by {who} on {self.secret}{under}: {self.outcome.value}{graded}{measured}")


def _figures(score: Score) -> str:
    return f", {score.metric} {score.value:.3f}, baseline {score.baseline:.3f}"


@dataclass(frozen=True)
class RunSummary:
    """One run of the protocol: under which defense and deviation, and how good the model was."""

    defense: str | None
    deviation: str | None
    utility: Mapping[str, float]
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Remedy:
    """What to change. How well a defense did is not kept here: it follows from the findings."""

    sentence: str
    defense: str | None = None  # with its parameters, as findings name it; None where the remedy is no defense


@dataclass(frozen=True, eq=False)
class Report(Tabular):
    """``repr`` is the verdict with the gravest leaks, a notebook shows a small table, ``to_frame`` gives all of it."""

    scenario: Mapping[str, object]  # the scenario as resolved, JSON values only
    environment: Mapping[str, ScalarValue]
    runs: tuple[RunSummary, ...]
    findings: tuple[Finding, ...]
    remedies: tuple[Remedy, ...] = ()  # the most useful first
    for_other_protocols: tuple[str, ...] = ()  # attacks that this protocol never gives what they need
    run_key: str | None = None  # repeats the audit; None where it is not told
    repeats: int = 1  # runs that each finding was decided on

    @property
    def advice(self) -> tuple[str, ...]:
        return tuple(remedy.sentence for remedy in self.remedies)

    @property
    def worst(self) -> Severity:
        return max((finding.severity for finding in self.findings), default=Severity.NONE)

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """The gravest first."""
        found = [finding for finding in self.findings if finding.outcome is Outcome.LEAK]
        return tuple(sorted(found, key=lambda finding: finding.severity, reverse=True))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(_COLUMNS)

    def rows(self) -> list[dict[str, ScalarValue]]:
        return [{name: of(finding) for name, of in _COLUMNS.items()} for finding in self.findings]

    def in_words(self) -> str:
        """The verdict in one line."""
        n_found = len(self.findings)
        among = f"{n_found} finding{'' if n_found == 1 else 's'}"
        if self.leaks:
            return f"severity {self.worst.label}: {len(self.leaks)} of {among} leak"
        if self.worst:
            return f"severity {self.worst.label}: proved from what was seen, without a truth, among {among}"
        n_unchecked = sum(finding.outcome is Outcome.UNCHECKED for finding in self.findings)
        if n_unchecked:
            return f"not checked: {n_unchecked} of {among} answered, with no truth that could tell whether rightly"
        n_failed = sum(finding.outcome is Outcome.ERRORED for finding in self.findings)
        if n_failed:
            return f"not complete: {n_failed} of {among} failed, and what they would have shown is not known"
        measured = sum(finding.outcome is Outcome.NO_LEAK for finding in self.findings)
        return f"no leak in {among}, {measured} of them measured"

    @property
    def title(self) -> str:
        return one_line(str(self.scenario.get("title", "untitled")))

    def __repr__(self) -> str:
        shown = [f"  {finding.in_words()}" for finding in self.leaks[:N_SHOWN]]
        more = len(self.leaks) - len(shown)
        rest = [f"  and {more} more; all findings: report.to_frame()"] if more else []
        return "\n".join([f"<Report of {self.title}: {self.in_words()}>", *shown, *rest])


N_SHOWN = 5  # leaks in a repr
# A report as a table: plain values, the same columns for every finding.
_COLUMNS: dict[str, Callable[[Finding], ScalarValue]] = {
    "adversary": lambda found: " + ".join(found.adversary),
    "mode": lambda found: found.mode.value,
    "attack": lambda found: found.attack,
    "secret": lambda found: found.secret.kind.value,
    "owner": lambda found: found.secret.owner,
    "defense": lambda found: found.defense,
    "outcome": lambda found: found.outcome.value,
    "severity": lambda found: found.severity.label,
    "metric": lambda found: found.score.metric if found.score else None,
    "value": lambda found: found.score.value if found.score else None,
    "baseline": lambda found: found.score.baseline if found.score else None,
    "ci_low": lambda found: found.score.ci[0] if found.score else None,
    "ci_high": lambda found: found.score.ci[1] if found.score else None,
    "n": lambda found: found.score.n if found.score else None,
    "p_value": lambda found: found.p_value,
    "p_corrected": lambda found: found.p_corrected,
    "cells_recovered": lambda found: found.cells_recovered,
    "leaking_columns": lambda found: ", ".join(found.leaking_columns) or None,
    "theory": lambda found: found.theory.verdict,
    "claim": lambda found: found.claim.status if found.claim else None,
    "confidence": lambda found: found.claim.confidence if found.claim else None,
    "certificate": lambda found: found.certificate or None,
    "seconds": lambda found: found.seconds,
    "why": lambda found: found.why,
}
