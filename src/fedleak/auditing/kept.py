"""What an audit has found so far, by its place in the plan."""

from __future__ import annotations

from fedleak.core.finding import Finding
from fedleak.core.report import RunSummary


class Kept:
    """In memory alone. A journal writes everything down as it comes, and brings what an earlier audit left."""

    def __init__(self) -> None:
        self.findings: dict[int, Finding] = {}  # by the place of the task, over all runs of the plan
        self.summaries: dict[int, RunSummary] = {}  # by the place of the run

    def add_finding(self, place: int, finding: Finding) -> None:
        self.findings[place] = finding

    def add_summary(self, place: int, summary: RunSummary) -> None:
        self.summaries[place] = summary
