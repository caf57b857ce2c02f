"""One rule decides banner, colour, JSON, the line in Python and the exit code; what is not known is never green."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from fedleak.cli.audit import conclude
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import ExitCode
from fedleak.core.finding import Better, Finding, Mode, Outcome, Score, Severity, Theory
from fedleak.core.report import Report, RunSummary
from fedleak.report import html, terminal
from fedleak.report.json_format import dumps, loads, to_json
from fedleak.report.verdict import statement

CLEAN = Finding(
    adversary=("fintech",),
    mode=Mode.PASSIVE,
    attack="residual-sign",
    secret=Secret(SecretKind.LABELS, "bank"),
    defense=None,
    outcome=Outcome.NO_LEAK,
    why="",
    theory=Theory("unknown", ()),
    score=Score("auc", 0.52, 0.5, Better.HIGHER, (0.4, 0.6), 40),
)
FEATURES = Secret(SecretKind.FEATURES, "bank")


def ended(outcome: Outcome, verdict: str = "unknown", **changes: Any) -> Finding:
    return replace(CLEAN, outcome=outcome, score=None, theory=Theory(verdict, ()), **changes)


def leak(severity: Severity, verdict: str = "unknown", **changes: Any) -> Finding:
    shown = Score("auc", 0.97, 0.5, Better.HIGHER, (0.9, 1.0), 40)
    return replace(CLEAN, outcome=Outcome.LEAK, severity=severity, theory=Theory(verdict, ()), score=shown, **changes)


HIGH, LOW, GREY = ("leak", "high"), ("leak", "low"), ("inconclusive", "unmeasured")
GREEN = ("no_leak", "none")
# findings, (level, colour), exit code under --fail-on high, what is missing
OUTCOMES = {
    "no leak": ([CLEAN], GREEN, ExitCode.DONE, ""),
    "a grave leak": ([leak(Severity.HIGH)], HIGH, ExitCode.FOUND, ""),
    "a slight leak": ([leak(Severity.LOW)], LOW, ExitCode.DONE, ""),
    "nothing tried": ([], GREY, ExitCode.INCONCLUSIVE, "not one attack gave a measured outcome"),
    "all skipped": ([ended(Outcome.SKIPPED)], GREY, ExitCode.INCONCLUSIVE, "not one attack"),
    "refusals alone": ([ended(Outcome.NOT_IDENTIFIABLE)], GREY, ExitCode.INCONCLUSIVE, "not one attack"),
    "a failure": ([CLEAN, ended(Outcome.ERRORED)], GREY, ExitCode.FAILED, "1 attempt failed (residual-sign)"),
    "an open question": (
        [CLEAN, ended(Outcome.UNDETERMINED, secret=FEATURES)],
        GREY,
        ExitCode.INCONCLUSIVE,
        "undetermined is what fintech (passive) learns of features of bank",
    ),
    "an attack that gave up where another answers": (
        [CLEAN, ended(Outcome.UNDETERMINED, attack="search")],
        GREEN,
        ExitCode.DONE,
        "",
    ),
    "an open question under a defense": (
        [CLEAN, ended(Outcome.UNDETERMINED, defense="noise")],
        GREY,
        ExitCode.INCONCLUSIVE,
        "of labels of bank under noise",
    ),
    "exact, and nothing found": (
        [replace(CLEAN, theory=Theory("exact", ()))],
        GREY,
        ExitCode.INCONCLUSIVE,
        "theory says that residual-sign by fintech on labels of bank is exact, and it found nothing",
    ),
    "exact, and refused": (
        [CLEAN, ended(Outcome.NOT_IDENTIFIABLE, "exact")],
        GREY,
        ExitCode.INCONCLUSIVE,
        "is exact, and it found nothing",
    ),
    "impossible, and it leaks": (
        [leak(Severity.LOW, "impossible")],
        GREY,
        ExitCode.INCONCLUSIVE,
        "is impossible, and it leaks: one of the two is wrong",
    ),
    "impossible, and it leaks gravely": (
        [leak(Severity.HIGH, "impossible")],
        GREY,
        ExitCode.FOUND,
        "is impossible, and it leaks",
    ),
    "a contradiction beside a grave leak": (
        [leak(Severity.HIGH), replace(CLEAN, attack="search", theory=Theory("exact", ()))],
        HIGH,
        ExitCode.FOUND,
        "theory says that search by fintech",
    ),
    "a contradiction beside a slight leak": (
        [leak(Severity.LOW), replace(CLEAN, attack="search", theory=Theory("exact", ()))],
        LOW,
        ExitCode.INCONCLUSIVE,
        "theory says that search by fintech",
    ),
    "a failure beside a grave leak": (
        [leak(Severity.HIGH), ended(Outcome.ERRORED)],
        HIGH,
        ExitCode.FOUND,
        "1 attempt failed",
    ),
    "a failure and an open question": (
        [CLEAN, ended(Outcome.ERRORED), ended(Outcome.UNDETERMINED, secret=FEATURES)],
        GREY,
        ExitCode.FAILED,
        "undetermined is",
    ),
    "partial, and nothing found": ([replace(CLEAN, theory=Theory("partial", ()))], GREEN, ExitCode.DONE, ""),
}


def report(findings: list[Finding], **changes: Any) -> Report:
    return Report({"title": "t"}, {}, (), tuple(findings), **changes)


def printed(given: Report) -> str:
    console = Console(file=StringIO(), width=140)
    terminal.print_report(given, console)
    return " ".join(console.file.getvalue().split())


@pytest.mark.parametrize("case", OUTCOMES)
def test_banner_and_exit_code(case: str) -> None:
    findings, (level, tone), code, missing = OUTCOMES[case]
    given = report(findings)
    top = statement(given)
    assert (top.in_a_word, top.tone) == (level, tone)
    assert conclude(given, Severity.HIGH) is code
    assert any(missing.lower() in line.lower() for line in top.missing) is bool(missing)


@pytest.mark.parametrize("case", OUTCOMES)
def test_every_form_says_the_same(case: str) -> None:
    findings, (level, tone), _, missing = OUTCOMES[case]
    given = report(findings)
    page, told, verdict = html.render(given), printed(given), to_json(given)["verdict"]
    assert isinstance(verdict, dict)
    assert verdict["level"] == level
    assert f'class="verdict severity-{tone}"' in page
    words = {"inconclusive": "Inconclusive", "no_leak": "No leak found", "leak": f"Severity {tone}"}[level]
    assert told.startswith(f"{words}: ")
    assert f'<p class="level">{words}</p>' in page
    assert given.in_words().startswith(words.split()[0].lower())
    assert ("What is missing:" in page) is (level == "inconclusive")
    assert ("Not settled:" in page) is ("Not settled:" in told) is (level == "leak" and bool(missing))
    assert bool(verdict["missing"]) is bool(missing)


def test_an_audit_that_was_ended_is_not_green_and_stays_so_when_it_is_read_again() -> None:
    given = report([CLEAN, ended(Outcome.SKIPPED, attack="search")], interrupted=True)
    again = loads(dumps(given))
    assert again.interrupted
    for one in (given, again):
        assert statement(one).tone == "unmeasured"
        assert one.in_words() == "inconclusive: the audit was interrupted before every attack was tried"


def test_each_adversary_is_judged_by_the_same_rule() -> None:
    page = html.render(report([CLEAN, ended(Outcome.UNDETERMINED, adversary=("arbiter",))]))
    assert "No attack of this adversary found a leak." in page
    assert "Not known: not one attack gave a measured outcome." in page


RUN = RunSummary(None, None, {"test_accuracy": 0.95, "test_balanced_accuracy": 0.5}, 1.0)
BLIND = {"test_accuracy": 0.95, "test_balanced_accuracy": 0.5}


@pytest.mark.parametrize(
    ("balanced", "words"),
    [
        (
            0.45,
            "The model is no better than always saying the majority class: what defenses cost cannot be judged on it.",
        ),
        (0.53, "The model is hardly better than always saying the majority class: what defenses cost cannot be judged"),
        (0.7, ""),
    ],
)
def test_a_model_that_learnt_nothing_is_told(balanced: float, words: str) -> None:
    run = replace(RUN, utility={"test_accuracy": 0.95, "test_balanced_accuracy": balanced}, baselines=BLIND)
    given = replace(report([leak(Severity.HIGH)]), runs=(run,))
    told: Any = to_json(given)
    assert told["verdict"]["usefulness"].startswith(words)
    assert bool(told["verdict"]["usefulness"]) is bool(words)
    assert told["runs"][0]["baselines"] == BLIND
    for shown in (printed(given), html.render(given).replace("\u00a0", " ")):
        assert words in shown
        assert "95 % (95 %)" in shown


def test_a_defense_that_costs_all_that_was_learnt_is_told_so() -> None:
    useful = replace(RUN, utility={"test_accuracy": 0.97, "test_balanced_accuracy": 0.9}, baselines=BLIND)
    spoiled = replace(RUN, defense="noise", baselines=BLIND)
    findings = [leak(Severity.HIGH), replace(CLEAN, defense="noise")]
    given = replace(report(findings), runs=(useful, spoiled))
    told = "goes from 97 % to 95 % (95 % blindly), no better than always saying the majority class"
    assert told in statement(given).remedy
    assert statement(given).usefulness == ""
