"""The keys of a report's JSON, each with its meaning: readers, writers and docs/report_json.md go by these types.

A key that is added gets a default, so that reports without it still load; one that changes its meaning raises
SCHEMA_VERSION, and the older form stays here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any

from fedleak.core.adversary import Secret
from fedleak.core.ceiling import Budget, Ceiling
from fedleak.core.conclusion import Level
from fedleak.core.described import meaning
from fedleak.core.finding import Better, Claim, ColumnResult, Exhibit, Mode, Outcome, Score, Severity, Theory
from fedleak.core.payload import ScalarValue
from fedleak.core.risk import Risk

SCHEMA_VERSION = 2
SCORE_KEYS = ("metric", "value", "baseline", "better", "ci", "n")  # of the main score, among the finding's own keys


def key(about: str, *, default: Any = MISSING, least: float | None = None, most: float | None = None) -> Any:
    return field(default=default, metadata=meaning(about, least=least, most=most))


@dataclass(frozen=True, kw_only=True)
class RunKeys:
    """One for each run of the protocol, that is, for each defense and deviation."""

    defense: str | None = key("the defense that was on, with its parameters")
    deviation: str | None = key("what a dishonest party did")
    utility: Mapping[str, float | None] = key("figures of the model by name")
    seconds: float | None = key("time of the run, in seconds", least=0)
    notes: tuple[str, ...] = key("what the protocol or the defense has to say of the run")
    baselines: Mapping[str, float | None] | None = key(
        "the same figures of a guess that looks at no column: always the majority class, or the mean", default=None
    )


@dataclass(frozen=True, kw_only=True)
class FindingKeys:
    """One attack by one adversary on one secret, under one defense or none."""

    adversary: tuple[str, ...] = key("one party, or a coalition", least=1)
    mode: Mode = key("follows the protocol, or deviates from it")
    attack: str = key("its name")
    secret: Secret = key("what it is after")
    defense: str | None = key("the defense that was on, with its parameters")
    outcome: Outcome = key("what came of it; `leak` and `no_leak` alone decide, and none of the others is a zero")
    why: str = key("the reason, in a sentence")
    metric: str | None = key("what was measured; null, as are the next five, where nothing was")
    value: float | None = key("the figure that the attack reached")
    baseline: float | None = key("the best that a blind answer gives: prior knowledge, and no message")
    better: Better | None = key("which way is better for the attack")
    ci: tuple[float, float] | None = key("interval of the value, 95 %: low and high")
    n: int | None = key("cells that were scored", least=0)
    population: Score | None = key(
        "of labels: the score on rows with their own labels, which holds what any useful model predicts; null where it "
        "was not told apart from what the transcript says about a row",
        default=None,
    )
    recovery: Score | None = key(
        "of labels: the score on rows whose labels were redrawn, which decides; the same as metric to n above, null "
        "where population is",
        default=None,
    )
    ceiling: Ceiling | None = key(
        "what theory allows any attack on redrawn labels; null where its conditions fail or are not known", default=None
    )
    budget: Budget | None = key("a declared privacy budget, and what was measured of it", default=None)
    cells_recovered: float | None = key(
        "share of the unknown cells recovered to within 1 % of their range; in a column without a range (all cells "
        "equal), to within 1e-9 of its value",
        least=0,
        most=1,
    )
    theory: Theory = key("the prediction that was made before the run")
    severity: Severity = key("how grave it is")
    seconds: float | None = key("time of the attack, in seconds", least=0)
    further_scores: tuple[Score, ...] = key("other metrics of the same guess")
    evidence: Mapping[str, str] = key("what the attack says for itself: ranks, residuals, number of solutions")
    exhibit: Exhibit | None = key("a few true and guessed values side by side; null in a redacted report")
    columns: tuple[ColumnResult, ...] = key("how each column of the secret came out", default=())
    gain_ci: tuple[float, float] | None = key(
        "interval of the gain over the baseline, row by row, 95 %; null where rows are not paired", default=None
    )
    p_value: float | None = key(
        "how likely luck alone gets so far, corrected for the number of columns; null where nothing was tested",
        default=None,
        least=0,
        most=1,
    )
    p_corrected: float | None = key(
        "the same, corrected (Holm) for all attacks by this adversary on this secret; a leak is at most 0.025, or "
        "proved, or said to be recovered and perfect",
        default=None,
        least=0,
        most=1,
    )
    claim: Claim | None = key("what the attack itself says of its answer; null where it gave none", default=None)
    certificate: str | None = key(
        "what in the adversary's view alone proves the answer; null where nothing does", default=None
    )
    risks: tuple[Risk, ...] = key(
        "questions of the opinion WP216 that a leak answers; of any other outcome, those that it was to answer",
        default=(),
    )

    def __post_init__(self) -> None:
        for name in SCORE_KEYS[1:]:
            given = getattr(self, name) is not None
            if given != (self.metric is not None):
                wanted = "null where metric is null; got a value" if given else "given where metric is; got null"
                raise ValueError(f"{name} must be {wanted}")


@dataclass(frozen=True, kw_only=True)
class VerdictKeys:
    """What the top of the page says; computed from the findings."""

    level: Level = key("whether anything leaked; `inconclusive` where what would have to be known is not")
    severity: Severity = key("of the gravest leak, also of one that theory says cannot be")
    headline: str = key("the gravest leak in one sentence, or that there is none")
    meaning: str = key("what it means for the owner of the data; empty, as are the next two, where nothing leaked")
    also: tuple[str, ...] = key("the worst leak of every other secret, a sentence each")
    remedy: str = key("which defense helps, and what it leaves")
    tally: str = key("how many findings of which kind")
    missing: tuple[str, ...] = key(
        "what would have to be known and is not, a sentence each; beside a leak too", default=()
    )
    usefulness: str = key("a warning where the model is no better than a guess that looks at no column", default="")


@dataclass(frozen=True, kw_only=True)
class UtilityChangeKeys:
    """What a defense costs the model; computed from the runs."""

    metric: str = key("the figure that stands for the model's worth")
    without: float = key("in the run without a defense")
    with_defense: float = key("in the run with it")
    baseline: float | None = key("of a guess that looks at no column; null where not known", default=None)


@dataclass(frozen=True, kw_only=True)
class RemedyKeys:
    """Something to change."""

    sentence: str = key("what, and why")
    defense: str | None = key("the defense that it speaks of, with its parameters; null where it speaks of none")
    stops: int | None = key(
        "leaks that this defense stopped: what one adversary learns of one secret, by any attack; null where it was "
        "tried on none",
        least=0,
    )
    of: int | None = key("leaks that it was tried on", least=0)
    utility_change: UtilityChangeKeys | None = key("what it costs the model; null where that was not measured")
    rules_out: int | None = key(
        "leaks that it leaves nothing to attack in, by a theorem; null where it was tried on none",
        least=0,
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class ReportKeys1:
    """A report in schema version 1."""

    schema_version: int
    scenario: Mapping[str, object]
    environment: Mapping[str, ScalarValue]
    runs: tuple[RunKeys, ...]
    findings: tuple[FindingKeys, ...]
    advice: tuple[str, ...]
    for_other_protocols: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReportKeys:
    schema_version: int = key(f"{SCHEMA_VERSION}; it rises when the meaning of a key changes")
    verdict: VerdictKeys = key("what the top of the page says")
    repeats: int = key("runs that each finding was decided on", least=1)
    run_key: str | None = key("repeats the audit (`fedleak audit --run-key`); null in a redacted report")
    scenario: Mapping[str, object] = key("the scenario as it was resolved")
    environment: Mapping[str, ScalarValue] = key(
        "versions, machine, time, `seed`, cipher, key and fraction bits; `attacks`: whether each ran in a process that "
        "held its view alone; `command`, where known: the way to run again"
    )
    runs: tuple[RunKeys, ...] = key("the runs of the protocol")
    findings: tuple[FindingKeys, ...] = key("what came of every attempt")
    remedies: tuple[RemedyKeys, ...] = key("what to change, the most useful first")
    for_other_protocols: tuple[str, ...] = key(
        "attacks that were left out because the protocol never gives what they need"
    )
    interrupted: bool = key("it was ended from outside, and not everything was tried", default=False)
    reduced: tuple[str, ...] = key(
        "what was made smaller to fit a time (`--budget`), and what that does to the verdict, a sentence each",
        default=(),
    )
