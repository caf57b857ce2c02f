"""The annex for an impact assessment: three questions answered, nothing called safe, no value of anybody in it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from sample_report import sample_report
from test_report_html import POISON, poisoned_report, with_examples

from fedleak.cli.main import app
from fedleak.core.finding import Outcome, Severity
from fedleak.core.risk import Risk
from fedleak.report import html, json_format
from fedleak.report.annex import annex


def answer(text: str, risk: Risk) -> str:
    return next(line for line in text.splitlines() if line.startswith(f"| {risk.value} |"))


def test_each_question_is_answered_by_its_own_findings():
    text = annex(sample_report())
    inference = answer(text, Risk.INFERENCE)
    assert "Yes, severity high: fintech recovers 100 % of bank's labels" in inference
    assert "Yes, severity high" not in answer(text, Risk.LINKABILITY)
    assert answer(text, Risk.LINKABILITY).endswith("Not asked: no attack that was tried is after this. |")


def of_labels(outcome: Outcome):
    report = sample_report()
    first = replace(report.findings[0], outcome=outcome, severity=Severity.NONE, certificate="")
    return replace(report, findings=(first,))


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome.NO_LEAK, "Not shown: 1 attempt measured, without a leak. Other attacks may."),
        (
            Outcome.NOT_IDENTIFIABLE,
            "Not measured: in 1 attempt several answers fit what was seen. Other attacks may tell.",
        ),
        (Outcome.UNDETERMINED, "Not known: of 1 attempt none shows it, and not all gave an answer."),
        (Outcome.ERRORED, "Not known: of 1 attempt none shows it, and not all gave an answer."),
        (Outcome.SKIPPED, "Not asked: no attack that was tried is after this."),
    ],
)
def test_what_is_not_known_is_never_a_no(outcome, words):
    assert words in answer(annex(of_labels(outcome)), Risk.INFERENCE)


def test_what_was_not_tried_stands_with_its_reason():
    skipped = replace(of_labels(Outcome.SKIPPED).findings[0], why="it takes a partner who breaks the protocol")
    text = annex(replace(sample_report(), findings=(skipped, skipped)))
    assert "## What was not tried\n\n- 2 attempts: it takes a partner who breaks the protocol\n" in text
    assert "What was not tried" not in annex(of_labels(Outcome.NO_LEAK))


def test_an_interrupted_audit_answers_nothing_with_no():
    report = replace(of_labels(Outcome.NO_LEAK), interrupted=True)
    assert "Not known" in answer(annex(report), Risk.INFERENCE)


def test_nothing_is_called_what_only_the_law_can_call_it():
    for report in (sample_report(), of_labels(Outcome.NO_LEAK)):
        for text in (annex(report), html.render(report), json_format.dumps(report)):
            assert re.search(r"anonym", text, flags=re.IGNORECASE) is None
            assert re.search(r"\bsafe\b", text.partition("</style>")[2] or text) is None


def test_it_holds_no_true_value_and_no_run_key():
    report = with_examples(sample_report())
    text = annex(report)
    assert str(report.run_key) not in text
    assert "1.26" not in text
    assert "row 90" not in text


def test_names_cannot_break_the_table_or_bring_markup_along():
    text = annex(poisoned_report())
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) in (4, 8) for row in rows)
    assert POISON not in text
    assert re.search(r"(?<!\\)<", text) is None


def test_the_command_prints_it(tmp_path):
    json_format.write(sample_report(), tmp_path / "report.json")
    result = CliRunner().invoke(app, ["report", str(tmp_path), "--format", "annex"])
    assert result.exit_code == 0
    assert result.output == annex(sample_report())


def test_every_finding_is_tagged_in_the_json_and_the_tag_is_not_believed():
    written = json_format.to_json(sample_report())
    assert all(finding["risks"] for finding in written["findings"])
    changed = json_format.dumps(sample_report()).replace('"inference"', '"linkability"')
    again = json_format.loads(changed)
    assert [found.risks for found in again.findings] == [found.risks for found in sample_report().findings]
