"""What any useful model predicts, what was recovered beyond it, and what theory allows: told in every form."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from rich.console import Console
from sample_report import sample_report

from fedleak.core.ceiling import Budget, Ceiling
from fedleak.core.finding import Better, Finding, Outcome, Score, Severity, Theory
from fedleak.core.report import Report
from fedleak.report.agreement import Agreement, agreement
from fedleak.report.html import render
from fedleak.report.json_format import dumps, loads, to_json
from fedleak.report.terminal import print_report
from fedleak.report.wording import outcome_words

RECOVERY = Score("auc", 0.52, 0.5, Better.HIGHER, (0.43, 0.61), 184)
POPULATION = Score("auc", 0.97, 0.5, Better.HIGHER, (0.95, 0.98), 2091)
CEILING = Ceiling("auc", 0.601, "no attack can reach more than 0.601", ("noise: holds (20)",))


def useful() -> Finding:
    return replace(
        sample_report().findings[0],
        attack="own-weights",
        outcome=Outcome.NO_LEAK,
        severity=Severity.NONE,
        score=RECOVERY,
        population=POPULATION,
        further_scores=(),
        ceiling=CEILING,
        budget=Budget(0.5, 0.1, 0.0123),
        theory=Theory("partial", ()),
    )


def report(finding: Finding) -> Report:
    return replace(sample_report(), findings=(finding,))


def test_both_scores_the_ceiling_and_the_budget_are_in_the_json_and_come_back() -> None:
    tree: Any = to_json(report(useful()))
    written = tree["findings"][0]
    assert (written["population"]["value"], written["recovery"]["value"], written["value"]) == (0.97, 0.52, 0.52)
    assert written["ceiling"]["value"] == 0.601
    assert written["budget"] == {"epsilon": 0.5, "delta": 0.1, "measured_epsilon": 0.0123}
    back = loads(dumps(report(useful()))).findings[0]
    assert (back.population, back.recovery, back.ceiling, back.budget) == (
        POPULATION,
        RECOVERY,
        CEILING,
        useful().budget,
    )


def test_where_they_are_not_told_apart_there_is_neither() -> None:
    plain = replace(useful(), population=None, ceiling=None, budget=None)
    written: Any = to_json(report(plain))
    assert [written["findings"][0][name] for name in ("population", "recovery", "ceiling", "budget")] == [None] * 4
    assert plain.recovery is None
    assert not plain.predicts


def test_a_useful_model_is_no_leak_and_does_not_hide() -> None:
    assert outcome_words(useful()) == "predicts, no leak found"
    assert outcome_words(replace(useful(), population=RECOVERY)) == "no leak found"
    assert agreement(useful()) is Agreement.AGREES, "theory said partly: as good as columns predict"
    assert agreement(replace(useful(), population=RECOVERY)) is Agreement.DISAGREES


def test_the_terminal_and_the_page_show_them() -> None:
    stream = io.StringIO()
    print_report(report(useful()), Console(file=stream, width=200))
    told = " ".join(stream.getvalue().split())
    for words in ("AUC 0.52", "own labels: AUC 0.97", "any attack: at most 0.601", "epsilon 0.5"):
        assert words in told
    page = render(report(useful()))
    for words in (
        "rows whose labels were redrawn",
        "AUC 0.97 on rows with their own labels",
        "at most 0.601",
        "0.0123",
    ):
        assert words in page
