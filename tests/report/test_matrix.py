"""Who learns what about whom, in plain words: what answers each question, and never more than was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_report import FINTECH_FEATURES, sample_report

from fedleak.core.adversary import SecretKind
from fedleak.core.finding import Better, ColumnResult, Outcome, Score, Severity
from fedleak.report import html
from fedleak.report.matrix import learnt_words, matrix, worst_columns
from fedleak.report.wording import leak_sentence, possessive


def leak(kind: SecretKind):
    shown = (f for f in sample_report().findings if f.outcome is Outcome.LEAK and f.secret.kind is kind)
    return replace(next(shown), defense=None)


def test_a_line_a_question_the_gravest_first():
    findings = sample_report().findings
    lines = matrix(findings)
    asked = {
        (f.adversary, f.mode, f.secret) for f in findings if f.defense is None and f.outcome is not Outcome.SKIPPED
    }
    assert len(lines) == len(asked)
    assert (lines[0].who, lines[0].about, lines[0].what) == ("fintech", "bank", "labels")
    assert lines[0].learns == "the label of every record"
    grades = [line.finding.severity for line in lines]
    assert grades == sorted(grades, reverse=True)


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1.0, "every value, to within 1 % of the range"),
        (0.9999, ">99.9 % of the values, to within 1 % of the range"),
        (0.713, "71.3 % of the values, to within 1 % of the range"),
    ],
)
def test_every_is_said_of_every_one_alone(share, words):
    assert learnt_words(replace(leak(SecretKind.FEATURES), cells_recovered=share)) == words


def test_less_than_half_is_told_by_what_a_guess_has():
    words = learnt_words(replace(leak(SecretKind.FEATURES), cells_recovered=0.015))
    assert words.startswith("more than a guess: ")
    assert "1.5 %" not in words


def test_what_was_not_found_is_said_as_it_is():
    finding = leak(SecretKind.FEATURES)
    silent = {one: learnt_words(replace(finding, outcome=one, severity=Severity.NONE)) for one in Outcome}
    assert silent[Outcome.NO_LEAK] == "no more than a guess, by what was tried"
    assert silent[Outcome.UNDETERMINED].startswith("not known")
    assert silent[Outcome.ERRORED].startswith("not known")
    assert silent[Outcome.NOT_IDENTIFIABLE] == "not found: several answers fit what it saw"


def test_the_worst_columns_are_those_that_leak_most():
    def column(name: str, learnt: float, *, leaks: bool = True) -> ColumnResult:
        return ColumnResult(name, 10, 0.1, 0.3, 0.9, 0.5, learnt, 0.001, leaks)

    columns = (column("age", 0.4), column("income", 0.9), column("zip", 0.99, leaks=False))
    finding = replace(leak(SecretKind.FEATURES), columns=columns)
    worse = replace(finding, adversary=("arbiter",), columns=(column("age", 0.7),))
    found = worst_columns([finding, worse])
    assert [(one.column.column, one.who) for one in found] == [("income", finding.adversary[0]), ("age", "arbiter")]
    page = html.render(replace(sample_report(), findings=(finding,)))
    assert page.index('id="matrix"') < page.index('id="worst"') < page.index('id="partners"')
    assert worst_columns([replace(finding, outcome=Outcome.NO_LEAK)]) == ()


def test_a_leak_whose_figure_is_no_better_than_a_guess_is_told_by_what_shows_it():
    """Another test decides than the figure that stands first: '97.5 % recovered (97.7 % blindly)' says nothing."""
    beaten = Score("cells-recovered", 0.975, 0.977, Better.HIGHER, (0.97, 0.98), 900)
    columns = (
        ColumnResult("age", 450, 0.1, 0.1, 0.93, 0.97, learnt=0.8),
        ColumnResult("income", 450, 0.1, 0.1, 0.51, 0.97, learnt=0.2, leaks=True),
    )
    found = replace(leak(SecretKind.FEATURES), score=beaten, cells_recovered=0.975, columns=columns)
    words = "values that go with the true ones (correlation 0.51 in income)"
    assert learnt_words(found) == words
    assert leak_sentence(found).endswith(f"narrows down {possessive(found.secret)}: {words}")
    alone = replace(found, columns=())
    assert learnt_words(alone) == "nearer to the truth, row by row, than luck explains"
    assert "97.5 %" in learnt_words(replace(found, score=replace(beaten, baseline=0.4)))


def test_what_was_computed_is_told_apart_from_what_a_guess_fills_in() -> None:
    score = Score("cells-recovered", 0.72, 0.71, Better.HIGHER, (0.7, 0.74), 9)
    finding = replace(sample_report().findings[0], secret=FINTECH_FEATURES, score=score, cells_recovered=0.02)
    assert learnt_words(finding) == "2 % of the values, to within 1 % of the range"
    assert matrix((finding,))[0].what == "columns (features)"
