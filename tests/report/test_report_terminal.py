"""The terminal: the verdict first, at any width, as plain text."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console
from sample_report import BANK_LABELS, sample_report

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.finding import Finding, Mode, Outcome, Theory
from fedleak.core.report import Remedy, Report
from fedleak.report.safe_text import Name
from fedleak.report.terminal import print_report
from fedleak.report.verdict import statement
from fedleak.report.wording import OUTCOME_WORDS


def printed(report: Report, width: int = 80, *, colours: bool = False) -> str:
    stream = io.StringIO()
    print_report(
        report, Console(file=stream, width=width, force_terminal=colours, color_system="truecolor" if colours else None)
    )
    return stream.getvalue()


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", [30, 80, 124, 200])
def test_the_verdict_comes_first_and_no_line_is_too_long(width: int) -> None:
    report = sample_report()
    output = printed(report, width)
    assert flat(output).startswith(f"Severity high: {statement(report).headline}")
    assert max(len(line) for line in output.splitlines()) <= width


@pytest.mark.parametrize("width", [80, 160])
def test_every_finding_that_ran_has_its_figures(width: int) -> None:
    output = flat(printed(sample_report(), width))
    for words in ("accuracy 100 %", "[99.4 % to 100 %]", "62.7 %", "71.3 %", ">99.9 %", "disagrees", "medium"):
        assert words in output


@pytest.mark.parametrize("width", [80, 160])
def test_every_outcome_without_a_figure_has_its_reason(width: int) -> None:
    report = sample_report()
    output = flat(printed(report, width))
    tail = output[output.index("6 findings neither leak nor no leak: none of these is a zero") :]
    for finding in report.findings:
        if finding.outcome not in {Outcome.LEAK, Outcome.NO_LEAK} and not finding.is_proved:
            assert f"{finding.attack}: {finding.why}" in tail
            assert OUTCOME_WORDS[finding.outcome] in tail
    assert "skipped 2 × generative-regression" in tail


def test_the_model_is_shown_with_and_without_each_defense() -> None:
    output = flat(printed(sample_report(), 100))
    assert "none none 96.5 % (62.7 %) 0.993 (0.5) 41.2 s" in output
    assert "gaussian-noise(sigma=0.5) none 93 % (62.7 %) 0.97 (0.5) 44.0 s" in output
    assert "the model's test accuracy goes from 96.5 % to 93 %" in output


def test_a_missing_score_is_not_a_zero() -> None:
    silent = Finding(
        ("fintech",), Mode.PASSIVE, "probe", BANK_LABELS, None, Outcome.UNDETERMINED, "a reason", Theory("unknown", ())
    )
    for width in (80, 160):
        output = printed(Report({}, {}, (), (silent,)), width)
        rows = output[output.index("What fintech") :]
        assert "a reason" in rows
        assert re.search(r"(?<![\d.])0(?![\d.])", rows) is None
        assert "severity none" not in rows


def test_without_colours_there_are_no_escapes_and_with_them_there_are() -> None:
    assert "\x1b" not in printed(sample_report())
    assert "\x1b[" in printed(sample_report(), colours=True)


def test_names_can_neither_style_nor_steer_the_terminal() -> None:
    poison = "[bold]x[/bold]\x1b[2J\x07\r"
    finding = replace(
        sample_report().findings[0],
        adversary=(poison,),
        attack=poison,
        why=poison,
        defense=poison,
        secret=Secret(SecretKind.LABELS, poison),
        theory=Theory(poison, (poison,)),
    )
    skipped = replace(finding, outcome=Outcome.SKIPPED, score=None)
    output = printed(replace(sample_report(), findings=(finding, skipped), remedies=(Remedy(poison),)), 160)
    assert not set("\x1b\x07\r") & set(output)
    assert "[bold]x[/bold]" in output
    assert r"\x1b[2J" in output


def test_an_adversary_whose_attacks_were_all_skipped_is_named() -> None:
    skipped = [finding for finding in sample_report().findings if finding.outcome is Outcome.SKIPPED]
    output = flat(printed(replace(sample_report(), findings=tuple(skipped))))
    assert output.startswith("Inconclusive: No attack gave an answer.")
    assert "Every attack was skipped" in output


def test_an_empty_report_prints() -> None:
    assert flat(printed(Report({}, {}, (), ()))) == (
        "Inconclusive: No attack was tried. Missing: Not one attack gave a measured outcome."
    )


def test_a_name_breaks_after_a_hyphen() -> None:
    stream = io.StringIO()
    Console(file=stream, width=12).print(Name("residual-from-own-gradient"))
    assert stream.getvalue().split() == ["residual-", "from-own-", "gradient"]


def test_attacks_for_other_protocols_take_one_line() -> None:
    assert "other protocols" not in printed(sample_report())
    some = replace(sample_report(), for_other_protocols=("column-products", "path-restriction"))
    assert "2 attacks are made for other protocols and left out" in flat(printed(some))
    one = replace(sample_report(), for_other_protocols=("column-products",))
    assert "1 attack is made for other protocols and left out" in flat(printed(one))
