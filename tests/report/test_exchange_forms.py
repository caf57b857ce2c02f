"""Reports for machines of others: SARIF, JUnit, a badge; and two reports beside each other."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from sample_report import sample_report

from fedleak.cli.main import app
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.finding import Outcome, Severity, Theory
from fedleak.core.report import FILE_DIGEST
from fedleak.report import json_format
from fedleak.report.difference import Change, difference
from fedleak.report.junit import junit_text
from fedleak.report.sarif import sarif, sarif_text
from fedleak.report.verdict_badge import NO_LEAK, badge

# The rules of SARIF 2.1.0 for the objects that we write: key -> form, with ! where it must be there. Objects are closed
# but for property bags. A list of forms is an array of it, a tuple is a choice, a dictionary an object.
MESSAGE = {"text!": str}
PLACE = {
    "physicalLocation": {"artifactLocation": {"uri": str}, "region": {"startLine": int}},
    "logicalLocations": [{"fullyQualifiedName": str, "kind": str}],
}
RESULT = {
    "ruleId": str,
    "ruleIndex": int,
    "kind": ("notApplicable", "pass", "fail", "review", "open", "informational"),
    "level": ("none", "note", "warning", "error"),
    "message!": MESSAGE,
    "locations": [PLACE],
    "partialFingerprints": "texts",
    "properties": "bag",
}
DRIVER = {"name!": str, "version": str, "rules": [{"id!": str, "shortDescription": MESSAGE}]}
SARIF = {
    "$schema": str,
    "version!": ("2.1.0",),
    "runs!": [
        {
            "tool!": {"driver!": DRIVER},
            "invocations": [{"executionSuccessful!": bool}],
            "results": [RESULT],
            "properties": "bag",
        }
    ],
}


def misfits(value, form, place="$") -> list[str]:
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return [f"{place} is no object"]
        known = {key.rstrip("!"): kind for key, kind in form.items()}
        wrong = [f"{place}.{key} is not a key" for key in value if key not in known]
        wrong += [f"{place}.{key[:-1]} is missing" for key in form if key.endswith("!") and key[:-1] not in value]
        return wrong + [
            line for key in value if key in known for line in misfits(value[key], known[key], f"{place}.{key}")
        ]
    if isinstance(form, list):
        if not isinstance(value, list):
            return [f"{place} is no array"]
        return [line for index, item in enumerate(value) for line in misfits(item, form[0], f"{place}[{index}]")]
    if isinstance(form, tuple):
        return [] if value in form else [f"{place} is {value!r}"]
    if form in ("bag", "texts"):
        fits = isinstance(value, dict) and (form == "bag" or all(isinstance(item, str) for item in value.values()))
        return [] if fits else [f"{place} is no {form}"]
    return [] if type(value) is form else [f"{place} is {value!r}"]


def test_sarif_is_valid_and_has_every_finding_that_was_tried():
    report = sample_report()
    found = json.loads(sarif_text(report))
    assert misfits(found, SARIF) == []
    results, rules = found["runs"][0]["results"], found["runs"][0]["tool"]["driver"]["rules"]
    tried = [finding for finding in report.findings if finding.outcome is not Outcome.SKIPPED]
    assert [result["ruleId"] for result in results] == [finding.attack for finding in tried]
    for finding, result in zip(tried, results, strict=True):
        assert rules[result["ruleIndex"]]["id"] == finding.attack
        assert (result["kind"] == "fail") == finding.is_shown
        assert (result["level"] == "none") == (not finding.is_shown)  # section 3.27.10 of the standard
        assert (result["kind"] == "pass") == (finding.outcome in {Outcome.NO_LEAK, Outcome.NOT_IDENTIFIABLE})
    assert len({result["partialFingerprints"]["question/v1"] for result in results}) == len(results)
    worst = next(result for finding, result in zip(tried, results, strict=True) if finding.severity is Severity.HIGH)
    assert worst["level"] == "error"


@pytest.mark.skipif("FEDLEAK_SARIF_SCHEMA" not in os.environ, reason="FEDLEAK_SARIF_SCHEMA names no schema")
def test_sarif_is_valid_by_the_schema_of_its_authors():
    """OASIS publishes it as sarif-schema-2.1.0.json; its terms keep it out of here. Needs the package jsonschema."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(Path(os.environ["FEDLEAK_SARIF_SCHEMA"]).read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    for report in (sample_report(), replace(sample_report(), findings=()), replace(sample_report(), interrupted=True)):
        assert [error.message for error in validator.iter_errors(json.loads(sarif_text(report)))] == []
    broken = json.loads(sarif_text(sample_report()))
    broken["runs"][0]["results"][0]["level"] = "critical"
    assert list(validator.iter_errors(broken))


def test_the_rules_of_sarif_notice_what_is_wrong():
    found = sarif(sample_report())
    assert misfits({**found, "more": 1}, SARIF) == ["$.more is not a key"]
    assert misfits({**found, "version": "2.0"}, SARIF) == ["$.version is '2.0'"]
    assert misfits({"version": "2.1.0"}, SARIF) == ["$.runs is missing"]
    assert misfits({**found, "runs": [{"tool": {"driver": {"name": 3}}}]}, SARIF) == ["$.runs[0].tool.driver.name is 3"]


def test_a_run_that_failed_or_was_ended_did_not_succeed():
    report = sample_report()
    clean = replace(report, findings=tuple(f for f in report.findings if f.outcome is not Outcome.ERRORED))
    ended = replace(clean, interrupted=True)
    told = [sarif(one)["runs"][0]["invocations"][0]["executionSuccessful"] for one in (report, clean, ended)]
    assert told == [False, True, False]


def test_junit_counts_leaks_as_failures_and_silence_as_skipped():
    report = sample_report()
    hostile = replace(report.findings[0], why="]]> <b> & \x1b[31m", adversary=('<a "&" b>',))
    suites = ET.fromstring(junit_text(replace(report, findings=(hostile, *report.findings[1:]))))
    cases = suites.findall("./testsuite/testcase")
    assert len(cases) == len(report.findings) == int(suites.get("tests"))
    outcomes = Counter("failure" if f.is_shown else f.outcome for f in report.findings)
    silent = sum(outcomes[one] for one in (Outcome.UNDETERMINED, Outcome.UNCHECKED, Outcome.SKIPPED))
    wanted = {"failures": outcomes["failure"], "errors": outcomes[Outcome.ERRORED], "skipped": silent}
    assert {name: int(suites.get(name)) for name in wanted} == wanted
    assert cases[0].get("classname").startswith('<a "&" b> (')


def test_a_badge_is_green_only_where_everything_was_measured():
    clean = replace(sample_report().findings[0], outcome=Outcome.NO_LEAK, severity=Severity.NONE, defense=None)
    clean = replace(clean, theory=Theory("unknown", ()))
    other = replace(clean, secret=Secret(SecretKind.GRAM, "bank"), outcome=Outcome.SKIPPED)
    assert NO_LEAK in badge(replace(sample_report(), findings=(clean,)))
    assert NO_LEAK not in badge(replace(sample_report(), findings=(clean, other)))


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [((Outcome.LEAK,), "leak: high"), ((Outcome.NO_LEAK,), "no leak found"), ((Outcome.UNDETERMINED,), "inconclusive")],
)
def test_a_badge_has_the_verdict(outcomes, words):
    report = sample_report()
    leak = next(f for f in report.findings if f.outcome is Outcome.LEAK and f.severity is Severity.HIGH)
    severity = Severity.HIGH if outcomes == (Outcome.LEAK,) else Severity.NONE
    plain = replace(leak, severity=severity, theory=replace(leak.theory, verdict="unknown"))
    picture = ET.fromstring(badge(replace(report, findings=tuple(replace(plain, outcome=one) for one in outcomes))))
    assert picture.get("aria-label") == f"fedleak: {words}"


def changed(finding, **changes):
    return replace(finding, **changes)


def test_leaks_close_open_move_or_are_not_known():
    leak = next(f for f in sample_report().findings if f.outcome is Outcome.LEAK and f.defense is None)
    leak = replace(leak, severity=Severity.MEDIUM)
    base = replace(sample_report(), findings=(leak,))

    def after(*findings):
        return difference(base, replace(base, findings=findings)).changes[0].change

    assert after(leak) is Change.SAME
    assert after(changed(leak, severity=Severity.HIGH)) is Change.WORSE
    assert after(changed(leak, severity=Severity.LOW)) is Change.BETTER
    assert after(changed(leak, outcome=Outcome.NO_LEAK)) is Change.CLOSED
    assert after(changed(leak, outcome=Outcome.UNDETERMINED)) is Change.UNKNOWN
    assert after() is Change.UNKNOWN
    silent = changed(leak, outcome=Outcome.NO_LEAK, severity=Severity.NONE)
    opened = difference(replace(base, findings=(silent,)), base)
    assert [one.change for one in opened.changes] == [Change.OPENED]
    assert not difference(replace(base, findings=(silent,)), replace(base, findings=(silent,))).changes


def test_reports_of_two_tables_are_compared_with_a_warning():
    base = sample_report()
    one, other = (replace(base, environment={**base.environment, FILE_DIGEST: digest}) for digest in ("ab", "cd"))
    assert difference(one, other).warning.startswith("the two audits read different files")
    assert difference(one, other).to_json()["warning"] == difference(one, other).warning
    assert difference(one, one).warning == difference(base, other).warning == ""


def test_the_commands_write_forms_and_tell_differences_by_their_exit_code(tmp_path):
    report = sample_report()
    quiet = tuple(replace(f, outcome=Outcome.NO_LEAK) if f.is_shown else f for f in report.findings)
    paths = {"leaks": tmp_path / "leaks.json", "quiet": tmp_path / "quiet.json"}
    json_format.write(report, paths["leaks"])
    json_format.write(replace(report, findings=quiet), paths["quiet"])

    def call(*words):
        return CliRunner().invoke(app, list(map(str, words)), standalone_mode=False)

    assert call("diff", paths["leaks"], paths["quiet"]).return_value == 0
    opened = call("diff", paths["quiet"], paths["leaks"], "--json", "-")
    assert opened.return_value == 1
    found = json.loads(opened.stdout)
    assert found["counts"]["opened"] == len(found["changes"]) > 0
    assert json.loads(call("report", paths["leaks"], "--format", "sarif").stdout)["version"] == "2.1.0"
    assert call("report", paths["leaks"], "--format", "junit", "--to", tmp_path / "x.xml").exception is None
    assert ET.parse(tmp_path / "x.xml").getroot().tag == "testsuites"
