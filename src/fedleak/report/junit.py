"""A report as JUnit's XML, which CI systems show as tests: an attack that leaks is a test that failed."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from math import isfinite

from fedleak.core.finding import Finding, Outcome
from fedleak.core.report import Report
from fedleak.core.visible_text import visible
from fedleak.report.sarif import told
from fedleak.report.wording import possessive, who

PASSED = (Outcome.NO_LEAK, Outcome.NOT_IDENTIFIABLE)


def junit_text(report: Report) -> str:
    """What gave no answer counts as skipped: it did not pass."""
    cases = [_case(finding) for finding in report.findings]
    counted = {tag: sum(case.find(tag) is not None for case in cases) for tag in ("failure", "error", "skipped")}
    numbers = {
        "tests": str(len(cases)),
        "failures": str(counted["failure"]),
        "errors": str(counted["error"]),
        "skipped": str(counted["skipped"]),
    }
    suites = ET.Element("testsuites", numbers)
    suite = ET.SubElement(suites, "testsuite", {"name": visible(report.title), **numbers})
    suite.extend(cases)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(finding: Finding) -> ET.Element:
    asked = f"{who(finding.adversary)} ({finding.mode.value}) on {possessive(finding.secret)}"
    name = finding.attack + (f" with {finding.defense}" if finding.defense else "")
    seconds = finding.seconds if isfinite(finding.seconds) else 0.0
    case = ET.Element("testcase", {"classname": visible(asked), "name": visible(name), "time": f"{seconds:.3f}"})
    if finding.is_shown:
        tag = ET.SubElement(case, "failure", {"message": visible(told(finding)), "type": finding.severity.label})
        tag.text = visible(finding.why)
    elif finding.outcome is Outcome.ERRORED:
        ET.SubElement(case, "error", {"message": visible(told(finding)), "type": finding.outcome.value})
    elif finding.outcome not in PASSED:
        ET.SubElement(case, "skipped", {"message": visible(told(finding))})
    return case
