"""The result of an audit: what the JSON, the HTML page and the terminal table are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fedleak.core.finding import Finding, Severity
from fedleak.core.payload import ScalarValue

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
