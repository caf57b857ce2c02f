"""All findings of an audit with the runs that they come from. The JSON, the HTML page and the terminal table are made
of this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fedleak.core.conclusion import MEASURED, Conclusion, Level, conclude
from fedleak.core.display import Tabular
from fedleak.core.finding import Finding, Outcome, Severity
from fedleak.core.payload import ScalarValue
from fedleak.core.visible_text import one_line


@dataclass(frozen=True)
class RunSummary:
    """One run of the protocol: under which defense and deviation, and how good the model was."""

    defense: str | None
    deviation: str | None
    utility: Mapping[str, float]
    seconds: float
    notes: tuple[str, ...] = ()
    baselines: Mapping[str, float] = field(default_factory=dict)  # by the same names: a guess that looks at no column


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
    interrupted: bool = False  # it was ended from outside, and not everything was tried
    reduced: tuple[str, ...] = ()  # what was made smaller to fit a time, and what that does to the verdict

    @property
    def conclusion(self) -> Conclusion:
        """What all of it comes to; banners and exit codes go by this alone."""
        return conclude(self.findings, interrupted=self.interrupted)

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
        concluded, n_found = self.conclusion, len(self.findings)
        among = f"{n_found} finding{'' if n_found == 1 else 's'}"
        match concluded.level:
            case Level.INCONCLUSIVE:
                return f"inconclusive: {'; '.join(concluded.missing)}"
            case Level.NO_LEAK:
                measured = sum(finding.outcome in MEASURED for finding in self.findings)
                return f"no leak in {among}, {measured} of them measured"
        told = f"{len(self.leaks)} of {among} leak" if self.leaks else f"{PROVED}, among {among}"
        n_open = len(concluded.missing)
        return f"severity {self.worst.label}: {told}" + (f"; {n_open} not settled" if n_open else "")

    @property
    def title(self) -> str:
        return one_line(str(self.scenario.get("title", "untitled")))

    def __repr__(self) -> str:
        shown = [f"  {finding.in_words()}" for finding in self.leaks[:N_SHOWN]]
        more = len(self.leaks) - len(shown)
        rest = [f"  and {more} more; all findings: report.to_frame()"] if more else []
        return "\n".join([f"<Report of {self.title}: {self.in_words()}>", *shown, *rest])


DATA_DIGEST, FILE_DIGEST = "data_sha256", "data_file_sha256"  # of the environment: of the cells, and of their file
PROVED = "proved from what was seen, without a truth"
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
    "population": lambda found: found.population.value if found.population else None,
    "ceiling": lambda found: found.ceiling.value if found.ceiling else None,
    "cells_recovered": lambda found: found.cells_recovered,
    "leaking_columns": lambda found: ", ".join(found.leaking_columns) or None,
    "theory": lambda found: found.theory.verdict,
    "claim": lambda found: found.claim.status if found.claim else None,
    "confidence": lambda found: found.claim.confidence if found.claim else None,
    "certificate": lambda found: found.certificate or None,
    "seconds": lambda found: found.seconds,
    "why": lambda found: found.why,
}
