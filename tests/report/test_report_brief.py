"""The verdict on one screen: never longer, the gravest first, and what is not known is said."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console
from sample_report import sample_report

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.finding import Outcome, Severity
from fedleak.core.report import Remedy, Report
from fedleak.report.brief import MOST_LINES, MOST_ROWS, print_brief
from fedleak.report.verdict import statement


def printed(report: Report, width: int = 80) -> str:
    stream = io.StringIO()
    print_brief(report, Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


def crowded() -> Report:
    """Forty partners with long names, each with a leak, and long advice."""
    report = sample_report()
    leak = next(finding for finding in report.findings if finding.outcome is Outcome.LEAK)
    many = [
        replace(
            leak,
            adversary=(f"partner {number}",),
            secret=Secret(SecretKind.LABELS, "the long-established savings bank of the capital"),
            severity=Severity.HIGH if number == 39 else Severity.LOW,
        )
        for number in range(40)
    ]
    return replace(report, findings=tuple(many), remedies=(Remedy("a long sentence " * 40),) * 9)


@pytest.mark.parametrize("report", [sample_report(), crowded()], ids=["sample", "crowded"])
@pytest.mark.parametrize("width", [80, 124])
def test_it_fits_a_screen_and_begins_with_the_verdict(report, width):
    output = printed(report, width)
    assert len(output.splitlines()) <= MOST_LINES
    assert max(len(line) for line in output.splitlines()) <= width
    assert flat(output).startswith(f"Severity high: {statement(report).headline}")
    assert "with --verbose" in output


def test_the_gravest_question_is_in_the_table_and_the_others_are_counted():
    rows = printed(crowded()).splitlines()
    first = next(number for number, row in enumerate(rows) if row.startswith("who "))
    assert rows[first + 1].startswith("partner 39 ")
    told = re.search(r"and (\d+) questions more, none of them graver", "\n".join(rows))
    assert told is not None
    n_named = sum(row.startswith("partner ") for row in rows)
    assert 1 <= n_named <= MOST_ROWS
    assert int(told[1]) == 40 - n_named


def test_no_name_is_cut():
    assert "…" not in printed(crowded())
    assert "the long-established savings bank of the capital" in flat(printed(crowded(), 124))


def test_how_sure_it_is_stands_below_the_verdict():
    assert "Measured beyond what prior knowledge gives (1 run)." in printed(sample_report())
    first = replace(sample_report().findings[0], p_corrected=1e-9)
    assert "Luck alone gets so far in under 0.1 % of cases (5 runs)." in printed(
        replace(sample_report(), findings=(first,), repeats=5)
    )
    proved = replace(first, certificate="one solution")
    assert "Proved by what fintech sees alone." in printed(replace(sample_report(), findings=(proved,)))


def changes(report: Report) -> list[str]:
    lines = printed(report).splitlines()
    return [line for line in lines if line.startswith("Change: ") or "fedleak advise" in line]


def test_what_was_seen_to_close_every_leak_is_advised_and_nothing_else():
    report = sample_report()
    first, weaker, batch = report.findings[:3]
    closed = replace(report, findings=(first, weaker, batch), remedies=(Remedy("Send less and hope."),))
    assert changes(closed)[0].startswith("Change: large-batch(512) closes every leak that was found")
    assert "Send less" not in printed(closed)
    open_still = replace(report, findings=(first, weaker))
    assert changes(open_still)[0].startswith("Change: nothing that was tried closes every leak")
    assert changes(replace(report, findings=(first,)))[0].startswith("fedleak advise")
    assert changes(replace(report, findings=(replace(first, outcome=Outcome.NO_LEAK, severity=Severity.NONE),))) == []


def test_changes_take_three_lines_at_most_beside_the_rest():
    assert 1 <= len(changes(sample_report())) <= 3


@pytest.mark.parametrize("outcome", [Outcome.UNDETERMINED, Outcome.ERRORED])
def test_what_is_missing_is_said_where_nothing_is_concluded(outcome):
    report = sample_report()
    one = replace(report.findings[0], outcome=outcome, score=None, severity=Severity.NONE, why="no budget left")
    output = flat(printed(replace(report, findings=(one,))))
    assert output.startswith("Inconclusive: ")
    assert "Missing: " in output
    assert "No leak found" not in output


def test_names_of_strangers_are_written_out():
    report = sample_report()
    one = replace(report.findings[0], adversary=("a\x1b[31m[red]",))
    assert "\x1b" not in printed(replace(report, findings=(one,)))
