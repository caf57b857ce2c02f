"""What an audit finds: a figure with its baseline beside it, and what came of one attempt."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from math import isfinite

from fedleak.core.adversary import Secret
from fedleak.core.arrays import FloatArray, Value, freeze
from fedleak.core.ceiling import Budget, Ceiling
from fedleak.core.described import meaning
from fedleak.core.risk import Risk, risks_of, shown_by
from fedleak.core.visible_text import one_line


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
    def learnt(self) -> float:
        """The share of the way from the baseline to a perfect answer that the attack went."""
        perfect = 1.0 if self.better is Better.HIGHER else 0.0
        room = abs(perfect - self.baseline)
        return self.gain / room if room > 0 else 0.0

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
class ExampleRows(Value):
    """A few rows of a table, by name, and of them the columns that came out best for the attack."""

    rows: tuple[str, ...] = field(metadata=meaning("what each row is called: its number, or round and row"))
    columns: tuple[str, ...] = field(metadata=meaning("the columns, those first of which most was learnt"))
    true: FloatArray = field(metadata=meaning("their true values: a list a row"))
    guessed: FloatArray = field(
        metadata=meaning("what the attack made of them; null where it gave nothing, or knew the cell beforehand")
    )

    def __post_init__(self) -> None:
        wanted = (len(self.rows), len(self.columns))
        if self.true.shape != wanted or self.guessed.shape != wanted:
            raise ValueError(f"ExampleRows must be {wanted}; got {self.true.shape} and {self.guessed.shape}")
        object.__setattr__(self, "true", freeze(self.true))
        object.__setattr__(self, "guessed", freeze(self.guessed))


@dataclass(frozen=True, eq=False)
class Exhibit(Value):
    """A few true and guessed values side by side, for the picture.

    Any shape: three or more axes are (images, height, width[, channels]) with pixels from 0 to 1. A
    cell that the attack did not guess is NaN.
    """

    true: FloatArray = field(metadata=meaning("true values of the data owner"))
    guessed: FloatArray = field(metadata=meaning("what the attack made of them, in the same shape"))
    examples: ExampleRows | None = field(
        default=None, metadata=meaning("a few rows with their columns, where the secret is a table; null where not")
    )

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
    score: Score | None = None  # of the secret's main metric, which decides; None where nothing was measured
    population: Score | None = None  # the same on rows with their own labels, where ``score`` is on redrawn ones
    ceiling: Ceiling | None = None  # what theory allows any attack; None where its conditions fail or are not known
    budget: Budget | None = None  # a declared privacy budget, with what was measured of it
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
    def recovery(self) -> Score | None:
        """What the transcript says about a row, apart from what any useful model predicts; None where that was not
        told apart."""
        return self.score if self.population is not None else None

    @property
    def predicts(self) -> bool:
        """Labels of ordinary rows are told, as any useful model does, whatever is told beyond that."""
        return self.population is not None and self.population.beats_baseline

    @property
    def is_proved(self) -> bool:
        """No truth was there to check the answer, and none is needed: the view itself proves it."""
        return self.outcome is Outcome.UNCHECKED and bool(self.certificate)

    @property
    def is_shown(self) -> bool:
        """A leak that was measured, or that the view proves."""
        return self.outcome is Outcome.LEAK or self.is_proved

    @property
    def risks(self) -> tuple[Risk, ...]:
        """The questions of an impact assessment that a leak answers; of anything else, those that it was to answer."""
        if self.outcome is Outcome.LEAK:
            return shown_by(self.secret.kind, len(self.columns), self.cells_recovered)
        return risks_of(self.secret.kind)

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
