"""Several audits together: what was learnt stays learnt, and nothing is said that the reports do not hold."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from sample_report import sample_report

from fedleak.cli.main import app
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.finding import ColumnResult, Finding, Mode, Outcome, Severity, Theory
from fedleak.core.report import Report
from fedleak.report import json_format
from fedleak.report.ledger_words import lines_of
from fedleak.report.shared_ledger import ledger

SCENARIO = {"title": "shops", "seed": 1, "data": {"source": "customers.csv"}, "partition": {"by": "columns"}}


def features(shares: dict[str, float], *, by: str = "shop", **changes) -> Finding:
    columns = tuple(
        ColumnResult(name, 100, 0.1, 0.3, 0.9, share, share, 0.0, share > 0) for name, share in shares.items()
    )
    finding = Finding(
        *((by,), Mode.PASSIVE, "attack", Secret(SecretKind.FEATURES, "bank"), None, Outcome.LEAK, ""),
        Theory("unknown", ()),
        severity=Severity.HIGH,
        columns=columns,
        cells_recovered=min(shares.values(), default=None),
    )
    return replace(finding, **changes)


def report(*findings: Finding, scenario=SCENARIO) -> Report:
    return Report(scenario, {}, (), findings)


def told(*reports: Report) -> str:
    return "\n".join(lines_of(ledger([(f"audit-{place}", one) for place, one in enumerate(reports)])))


def test_what_was_learnt_once_stays_learnt_and_each_audit_says_what_it_adds():
    first = report(features({"income": 1.0, "age": 0.0}))
    mended = report(features({"income": 0.0, "age": 0.0}, outcome=Outcome.NO_LEAK, severity=Severity.NONE))
    wider = report(features({"income": 0.0, "age": 0.6}))
    found = ledger([("a", first), ("b", mended), ("c", wider)])
    assert [(entry.item.name, entry.first) for entry in found.entries] == [("income", 0), ("age", 2)]
    assert found.new_in(1) == ()
    text = told(first, mended, wider)
    assert "income: all values (audit 1; inference)" in text
    assert "age: 60 % of the values (audit 3; inference)" in text
    assert "New in audit 2: nothing." in text
    assert "New in audit 3: age of bank to shop." in text


def test_two_parts_are_bounded_and_not_added_up():
    parts = [report(features({"income": share})) for share in (0.3, 0.5)]
    (entry,) = ledger([("a", parts[0]), ("b", parts[1])]).entries
    assert (entry.at_least, entry.at_most) == (0.5, 0.8)
    text = told(*parts)
    assert "at least 50 % of the values, at most 80 %" in text
    assert "whether two audits leave the same records open is not known" in text


def test_of_other_records_nothing_bounds_the_sum():
    other = {**SCENARIO, "data": {"source": "others.csv"}}
    parts = [report(features({"income": 0.3})), report(features({"income": 0.5}), scenario=other)]
    text = told(*parts)
    assert "how many at most is not known" in text
    assert "whether they are about the same persons is not known" in text
    assert ledger([("a", parts[0]), ("b", parts[1])]).to_json()["entries"][0]["at_most"] is None


@pytest.mark.parametrize("outcome", [Outcome.UNDETERMINED, Outcome.ERRORED, Outcome.UNCHECKED])
def test_an_audit_without_an_answer_is_not_settled(outcome):
    silent = features({}, outcome=outcome, severity=Severity.NONE)
    found = ledger([("a", report(features({"income": 0.3}))), ("b", report(silent))])
    (entry,) = found.entries
    assert entry.left_open == (1,)
    assert entry.at_most is None
    assert "income: 30 % of the values (audit 1, not settled in 2; inference)" in "\n".join(lines_of(found))


def test_further_partners_are_pooled():
    text = told(report(features({"income": 0.9})), report(features({"age": 0.9}, by="insurer")))
    assert "If all of them pool what they have of bank: income and age." in text
    assert "pool" not in told(report(features({"income": 0.9})), report(features({"age": 0.9})))


def test_defended_findings_do_not_count():
    assert ledger([("a", report(features({"income": 0.9}, defense="noise")))]).entries == ()


def test_the_command_reads_reports_and_writes_json(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        json_format.write(sample_report(), tmp_path / name / "report.json")
    paths = [str(tmp_path / name) for name in ("first", "second")]
    result = CliRunner().invoke(app, ["ledger", *paths, "--json", "-"])
    assert result.exit_code == 0
    found = json.loads(result.output)
    assert found["audits"] == paths
    assert found["same_records"] is True
    assert found["new"] == [list(range(len(found["entries"]))), []]
    again = CliRunner().invoke(app, ["ledger", paths[0], paths[0]])
    assert "must be different audits" in str(again.exception)
