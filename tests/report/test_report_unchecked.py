"""Claims without a truth: the verdict is never green over them, and a proved one is red."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.finding import Claim, Finding, Mode, Outcome, Severity, Theory
from fedleak.core.report import Report
from fedleak.report import html, terminal
from fedleak.report.agreement import Agreement, agreement
from fedleak.report.cases import silences
from fedleak.report.verdict import statement

CLAIMED = Finding(
    adversary=("fintech",),
    mode=Mode.PASSIVE,
    attack="residual-sign",
    secret=Secret(SecretKind.LABELS, "bank"),
    defense=None,
    outcome=Outcome.UNCHECKED,
    why="negative residuals (one run, and nothing to hold it against)",
    theory=Theory("exact", ()),
    claim=Claim("recovered", 160, 0.98),
)
PROVED = replace(CLAIMED, severity=Severity.HIGH, certificate="20 equations for 8 rows, and one solution")
CLEAN = replace(CLAIMED, attack="own-weights", outcome=Outcome.NO_LEAK, claim=None, theory=Theory("unknown", ()))


def report(*findings: Finding, transcript: str = "capture") -> Report:
    return Report({"title": "t", "settings": {"transcript": transcript}}, {}, (), findings)


def printed(given: Report, width: int) -> str:
    console = Console(file=StringIO(), width=width)
    terminal.print_report(given, console)
    return console.file.getvalue()


def test_without_a_truth_the_verdict_says_that_nothing_was_checked():
    top = statement(report(CLAIMED))
    assert (top.level, top.tone) == ("Inconclusive", "unmeasured")
    assert top.headline.startswith("No truth given: nothing was checked.")
    assert "1 unchecked" in top.tally


def test_what_was_checked_does_not_turn_the_rest_green():
    top = statement(report(CLEAN, CLAIMED))
    assert top.tone == "unmeasured"
    assert "What was checked shows no leak" in top.headline


def test_a_proved_claim_is_the_verdict():
    top = statement(report(PROVED, CLEAN))
    assert (top.level, top.tone) == ("Severity high", "high")
    assert top.headline == "fintech recovers 160 cells of bank's labels, proved by the transcript alone."
    assert "Count bank's labels as disclosed" in top.meaning
    assert "capture it again" in top.remedy
    assert "1 proved by the transcript alone" in top.tally


def test_a_part_that_is_proved_is_not_called_the_whole():
    part = replace(PROVED, severity=Severity.MEDIUM, claim=Claim("partial", 12))
    assert "Not all is disclosed" in statement(report(part)).meaning


def test_theory_is_held_against_measurements_alone():
    assert agreement(PROVED) is Agreement.NO_MEASUREMENT


def test_a_proved_claim_is_no_silence_and_another_is():
    assert silences([PROVED]) == ()
    assert [silence.outcome for silence in silences([CLAIMED])] == [Outcome.UNCHECKED]


@pytest.mark.parametrize("width", [80, 140])
def test_the_terminal_shows_the_claim_and_its_confidence(width: int):
    text = " ".join(printed(report(CLAIMED), width).split())
    assert "unchecked" in text
    assert "160 cells" in text
    assert "98 % sure" in text


def test_the_page_shows_proof_and_claim():
    page = html.render(report(PROVED, replace(CLAIMED, attack="own-weights")))
    assert "Proved by the view alone:</strong> 20 equations for 8 rows, and one solution" in page
    assert '<span class="badge leak"' in page
    assert "claims: recovered, 160 cells" in page
    assert "Add a <code>[[defense]]</code>" not in page
    assert "captured elsewhere" in page


def test_a_stored_finding_without_its_claim_can_still_be_shown():
    bare = replace(PROVED, claim=None)
    assert "proved by the transcript alone" in printed(report(bare), 140)
    assert "proved by the transcript alone" in html.render(report(bare))


def test_a_line_about_claims_that_nothing_checks_does_not_say_no_leak():
    for given in (report(CLAIMED), report(CLAIMED, CLEAN)):
        assert "no leak" not in given.in_words()
        assert "inconclusive: " in repr(given)
    assert "no truth was given" in report(CLAIMED).in_words()
    assert "unchecked is what fintech (passive) learns of labels of bank" in report(CLAIMED, CLEAN).in_words()
    assert report(CLEAN).in_words() == "no leak in 1 finding, 1 of them measured"
    assert report(PROVED, CLAIMED).in_words().startswith("severity high: proved")


def test_no_leak_is_not_green_where_an_attack_failed():
    failed = replace(CLEAN, attack="residual-sign", outcome=Outcome.ERRORED)
    assert report(CLEAN, failed).in_words().startswith("inconclusive: 1 attempt failed (residual-sign)")
    top = statement(report(CLEAN, failed))
    assert (top.level, top.tone, top.in_a_word) == ("Inconclusive", "unmeasured", "inconclusive")
    assert top.headline == "What was measured shows no leak, but 1 attempt failed."
    assert statement(report(CLEAN)).tone == "none"
