"""A report in SARIF 2.1.0, the form in which code hosts and IDEs show what scanners found."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from fedleak.core.finding import Finding, Outcome, Severity
from fedleak.core.report import Report
from fedleak.core.version import __version__
from fedleak.core.visible_text import visible_json
from fedleak.report.wording import leak_sentence, possessive, reason_of, who

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.HIGH: "error", Severity.MEDIUM: "warning", Severity.LOW: "note", Severity.NONE: "note"}
# What is neither a leak nor its absence is open, never a pass.
KINDS = {Outcome.NO_LEAK: "pass", Outcome.NOT_IDENTIFIABLE: "pass", Outcome.UNCHECKED: "review"}
UNTOLD = (Outcome.SKIPPED,)


def sarif(report: Report, place: str = "report.json") -> dict[str, object]:
    """``place``: the file that results point to; a leak has no line of code."""
    findings = [finding for finding in report.findings if finding.outcome not in UNTOLD]
    rules = list(dict.fromkeys(finding.attack for finding in findings))
    run: dict[str, object] = {
        "tool": {"driver": {"name": "fedleak", "version": __version__, "rules": [_rule(name) for name in rules]}},
        "invocations": [{"executionSuccessful": _went_well(report)}],
        "results": [_result(finding, rules, place) for finding in findings],
        "properties": {"title": report.title, "verdict": report.conclusion.level.value, "repeats": report.repeats},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def sarif_text(report: Report, place: str = "report.json") -> str:
    return visible_json(json.dumps(sarif(report, place), indent=2, ensure_ascii=False, allow_nan=False)) + "\n"


def _went_well(report: Report) -> bool:
    return not report.interrupted and all(finding.outcome is not Outcome.ERRORED for finding in report.findings)


def _rule(attack: str) -> dict[str, object]:
    return {"id": attack, "shortDescription": {"text": f"What the attack {attack} reconstructs"}}


def _result(finding: Finding, rules: list[str], place: str) -> dict[str, object]:
    shown = finding.is_shown
    return {
        "ruleId": finding.attack,
        "ruleIndex": rules.index(finding.attack),
        "kind": "fail" if shown else KINDS.get(finding.outcome, "open"),
        "level": LEVELS[finding.severity] if shown else "none",  # none is the only level beside another kind
        "message": {"text": told(finding)},
        "locations": [_location(finding, place)],
        "partialFingerprints": {"question/v1": _fingerprint(finding)},
        "properties": dict(_properties(finding)),
    }


def told(finding: Finding) -> str:
    """One sentence on what came of it."""
    if finding.is_shown:
        return f"{leak_sentence(finding)}."
    under = f", with {finding.defense}" if finding.defense else ""
    what = f"{finding.attack} by {who(finding.adversary)} on {possessive(finding.secret)}{under}"
    return f"{what}: {finding.outcome.value.replace('_', ' ')}. {reason_of(finding)}".strip()


def _location(finding: Finding, place: str) -> dict[str, object]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": place}, "region": {"startLine": 1}},
        "logicalLocations": [{"fullyQualifiedName": str(finding.secret), "kind": "data"}],
    }


def _fingerprint(finding: Finding) -> str:
    """The same in every audit that asks the same: what a host shows as fixed or new goes by it."""
    asked = (finding.adversary, finding.mode.value, finding.attack, str(finding.secret), finding.defense)
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def _properties(finding: Finding) -> Iterator[tuple[str, object]]:
    yield "outcome", finding.outcome.value
    yield "severity", finding.severity.label
    yield "adversary", list(finding.adversary)
    yield "defense", finding.defense
    yield "risks", [risk.value for risk in finding.risks]
    if finding.score is not None:
        yield finding.score.metric, finding.score.value
        yield "baseline", finding.score.baseline
    if finding.leaking_columns:
        yield "leaking columns", list(finding.leaking_columns)
