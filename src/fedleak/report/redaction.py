"""A report that can be shown to others."""

from __future__ import annotations

from dataclasses import replace

from fedleak.core.report import Report


def redact(report: Report) -> Report:
    """The report without its exhibits: they are the only place that holds true values of a data owner."""
    findings = tuple(replace(finding, exhibit=None) for finding in report.findings)
    return replace(report, findings=findings)
