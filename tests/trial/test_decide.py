"""One decision over several attempts."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Better, Claim, ColumnResult, Mode, Outcome, Score, Severity, Theory
from fedleak.core.knowledge import Knowledge
from fedleak.trial.attempt import Attempt, Failure
from fedleak.trial.decide import Question, _columns_over_runs, decide, severity
from fedleak.trial.luck import Luck
from fedleak.trial.proof import Proof

LABELS = Secret(SecretKind.LABELS, "bank")
QUESTION = Question(("fintech",), Mode.PASSIVE, ResidualSign.name, LABELS, None, Theory("unknown", ()))


def accuracy(value: float) -> Score:
    return Score("accuracy", value, 0.5, Better.HIGHER, (value - 0.01, value + 0.01), 100)


def attempt(result: Guess | Failure, *scores: Score) -> Attempt:
    return Attempt(ResidualSign, ("fintech",), LABELS, Knowledge(), result, 1.0, scores=scores)


def guess(status: Status) -> Guess:
    return Guess(LABELS, status, np.arange(3), np.ones((3, 1)), why=status.value)


RECOVERED = attempt(guess(Status.RECOVERED), accuracy(1.0))
NOTHING_SAID = [
    attempt(guess(Status.UNDETERMINED)),
    attempt(guess(Status.NOT_IDENTIFIABLE)),
    attempt(Failure("it crashed")),
    attempt(Failure("it lacks a package", skipped=True)),
]


@pytest.mark.parametrize("other", NOTHING_SAID, ids=lambda one: one.result.why)
def test_a_run_without_a_score_hides_no_leak_of_another(other):
    for order in permutations((RECOVERED, other)):
        found = decide(QUESTION, order)
        assert (found.outcome, found.severity) == (Outcome.LEAK, Severity.HIGH)
        assert found.score == RECOVERED.scores[0]
        assert found.seconds == 2.0


@pytest.mark.parametrize("further", [(), (attempt(guess(Status.PARTIAL), accuracy(0.97)),)])
def test_what_is_beyond_luck_is_a_leak_whatever_the_attack_thinks_of_it(further):
    """Several tables fit, and 97 of 100 cells are the same in all of them: that is no open question."""
    for order in permutations((attempt(guess(Status.UNDETERMINED), accuracy(0.97)), *further)):
        found = decide(QUESTION, order)
        assert (found.outcome, found.severity) == (Outcome.LEAK, Severity.HIGH)


@pytest.mark.parametrize(
    ("n_open", "outcome"), [(0, "no_leak"), (2, "no_leak"), (3, "undetermined"), (5, "undetermined")]
)
def test_nothing_was_found_where_the_attack_came_to_its_end_in_most_runs(n_open, outcome):
    near = replace(accuracy(0.5), ci=(0.4, 0.6))
    runs = [attempt(guess(Status.UNDETERMINED), near)] * n_open + [attempt(guess(Status.PARTIAL), near)] * (5 - n_open)
    for order in (runs, runs[::-1]):
        assert decide(QUESTION, order).outcome.value == outcome


def test_that_nothing_can_be_told_takes_all_runs():
    for order in permutations(NOTHING_SAID[:2]):
        assert decide(QUESTION, order).outcome is Outcome.UNDETERMINED


@pytest.mark.parametrize("status", [Status.PARTIAL, Status.UNDETERMINED, Status.NOT_IDENTIFIABLE])
def test_an_attack_that_fails_in_one_run_did_not_find_nothing(status):
    near = () if status is Status.NOT_IDENTIFIABLE else (replace(accuracy(0.5), ci=(0.4, 0.6)),)
    for order in permutations((attempt(guess(status), *near), attempt(guess(status), *near), NOTHING_SAID[2])):
        found = decide(QUESTION, order)
        assert (found.outcome, found.why) == (Outcome.ERRORED, "it failed in 1 of 3 runs: it crashed")
    lacking = decide(QUESTION, (attempt(guess(status), *near), NOTHING_SAID[3]))
    assert lacking.outcome is not Outcome.ERRORED


def test_a_leak_tells_of_runs_that_failed():
    assert "it failed in 1 of 2 runs: it crashed" in decide(QUESTION, (RECOVERED, NOTHING_SAID[2])).why


def test_several_runs_have_their_mean_and_an_interval_between_them():
    runs = [attempt(guess(Status.RECOVERED), accuracy(value)) for value in (0.9, 0.92, 0.94)]
    found = decide(QUESTION, runs)
    assert found.score is not None
    assert found.score.value == pytest.approx(0.92)
    assert found.score.ci == pytest.approx((0.92 - 4.3027 * 0.02 / 3**0.5, 0.92 + 4.3027 * 0.02 / 3**0.5), abs=1e-4)
    assert found.score.n == 300


def test_runs_that_are_alike_leave_open_what_the_rows_leave_open():
    """No noise, no difference between runs: 0.52 of few rows is no leak for having been measured five times."""
    near = replace(accuracy(0.52), ci=(0.4, 0.64))
    found = decide(QUESTION, [attempt(guess(Status.PARTIAL), near, near)] * 5)
    assert found.score is not None
    assert found.score.ci == pytest.approx((0.4, 0.64))
    assert found.outcome is Outcome.NO_LEAK
    sure = decide(QUESTION, [attempt(guess(Status.PARTIAL), replace(accuracy(1.0), ci=(0.74, 1.0)))] * 5)
    assert sure.score is not None
    assert sure.score.ci == pytest.approx((0.74, 1.0))
    assert sure.outcome is Outcome.LEAK


def test_what_is_gained_is_open_as_runs_differ_and_no_less_than_rows_leave_open():
    runs = [replace(accuracy(value), gain_ci=(value - 0.51, value - 0.49)) for value in (0.9, 0.92, 0.94)]
    found = decide(QUESTION, [attempt(guess(Status.PARTIAL), score) for score in runs])
    assert found.score is not None
    half = 4.3027 * 0.02 / 3**0.5
    assert found.score.gain_ci == pytest.approx((0.42 - half, 0.42 + half), abs=1e-4)
    wide = replace(accuracy(0.92), gain_ci=(0.3, 0.5))
    alike = decide(QUESTION, [attempt(guess(Status.PARTIAL), wide)] * 3)
    assert alike.score is not None
    assert alike.score.gain_ci == pytest.approx((0.3, 0.5))


def test_what_is_recovered_needs_no_caveat():
    """That labels could not be redrawn matters to what is in part predicted."""
    for status, caveat in ((Status.RECOVERED, ""), (Status.PARTIAL, " (population and recovery are not told apart: ")):
        why = decide(QUESTION, [attempt(guess(status), accuracy(1.0))] * 3).why
        assert why.startswith(status.value + caveat)
        assert bool(caveat) is (why != status.value)


def test_further_scores_are_those_of_all_runs_as_well():
    other = [replace(accuracy(value), metric="balanced-accuracy") for value in (0.6, 0.8)]
    found = decide(QUESTION, [attempt(guess(Status.PARTIAL), accuracy(0.9), one) for one in other])
    assert [(score.metric, score.value) for score in found.further_scores] == [("balanced-accuracy", 0.7)]
    assert found.further_scores[0].ci[1] == 1.0


def test_a_failure_is_skipped_only_where_all_lack_something():
    assert decide(QUESTION, NOTHING_SAID[3:]).outcome is Outcome.SKIPPED
    for order in permutations(NOTHING_SAID[2:]):
        assert decide(QUESTION, order).outcome is Outcome.ERRORED


def test_an_attack_that_theory_says_wins_is_no_closed_question_for_lacking_something():
    exact = replace(QUESTION, theory=Theory("exact", ()))
    assert decide(exact, NOTHING_SAID[3:]).outcome is Outcome.UNDETERMINED
    assert decide(exact, NOTHING_SAID[2:]).outcome is Outcome.ERRORED


@pytest.mark.parametrize(
    ("value", "grade"),
    [
        (0.5, Severity.NONE),
        (0.64, Severity.LOW),
        (0.66, Severity.MEDIUM),
        (0.89, Severity.MEDIUM),
        (0.91, Severity.HIGH),
    ],
)
def test_severity_is_the_share_of_the_way_to_a_perfect_answer(value, grade):
    assert severity(accuracy(value), SecretKind.LABELS) is grade
    assert severity(accuracy(value), SecretKind.GRAM) is min(grade, Severity.MEDIUM)


@pytest.mark.parametrize("better", list(Better))
@pytest.mark.parametrize("baseline", [0.2, 0.5, 0.875])
@pytest.mark.parametrize(
    ("share", "grade"),
    [
        (0.001, Severity.LOW),
        (0.299, Severity.LOW),
        (0.3, Severity.MEDIUM),
        (0.799, Severity.MEDIUM),
        (0.8, Severity.HIGH),
        (1.0, Severity.HIGH),
    ],
)
def test_severity_changes_at_three_and_eight_tenths_of_the_way(share, grade, baseline, better):
    """The reports of last year and of this year use one scale: a line that moves by a hundredth is another scale."""
    perfect = 1.0 if better is Better.HIGHER else 0.0
    value = baseline + share * (perfect - baseline)
    score = Score("any", value, baseline, better, (value, value), 100)
    assert severity(score, SecretKind.LABELS) is grade


def test_a_share_on_the_line_is_over_it_whatever_its_last_digit():
    score = Score("label-accuracy", 44 / 48, 28 / 48, Better.HIGHER, (0.8, 1.0), 48)
    assert score.gain / (1 - score.baseline) < 0.8, "16 of 20, in floating point"
    assert severity(score, SecretKind.LABELS) is Severity.HIGH


def unchecked(given: Guess) -> Attempt:
    return replace(attempt(given), unchecked=True)


def test_an_answer_without_a_truth_is_a_claim():
    sure = replace(guess(Status.PARTIAL), confidence=np.array([[0.5], [0.7], [0.9]]))
    found = decide(QUESTION, [unchecked(sure)])
    assert (found.outcome, found.severity, found.score) == (Outcome.UNCHECKED, Severity.NONE, None)
    assert found.claim == Claim("partial", 3, pytest.approx(0.7))
    assert "one run" in found.why


@pytest.mark.parametrize(
    ("status", "kind", "grade"),
    [
        (Status.RECOVERED, SecretKind.LABELS, Severity.HIGH),
        (Status.PARTIAL, SecretKind.LABELS, Severity.MEDIUM),
        (Status.RECOVERED, SecretKind.GRAM, Severity.MEDIUM),
        (Status.PARTIAL, SecretKind.GRAM, Severity.LOW),
    ],
)
def test_a_claim_that_the_view_proves_is_as_severe_as_what_it_claims(status, kind, grade):
    proved = replace(guess(status), secret=Secret(kind, "bank"), certificate="the one solution of 20 equations")
    found = decide(QUESTION, [unchecked(proved)])
    assert (found.outcome, found.severity, found.certificate) == (Outcome.UNCHECKED, grade, proved.certificate)
    assert found.is_proved
    assert "one run" not in found.why


@pytest.mark.parametrize("status", [Status.UNDETERMINED, Status.NOT_IDENTIFIABLE])
def test_an_attack_that_does_not_answer_claims_nothing(status):
    found = decide(QUESTION, [attempt(guess(status))])
    assert found.outcome.value == status.value
    assert not found.is_proved


PROVED = replace(guess(Status.RECOVERED), certificate="the one solution of 20 equations")


def test_a_proof_of_one_run_is_no_promise_about_the_others():
    """Luck cannot be ruled out by rows so few, and a proof that holds needs no rows."""
    few = replace(accuracy(0.6), ci=(0.3, 0.9))
    proved = replace(attempt(PROVED, few), told_right=1.0)
    claimed = replace(attempt(guess(Status.PARTIAL), few), told_right=0.8)
    for order in permutations((proved, claimed)):
        found = decide(QUESTION, order)
        assert (found.outcome, found.certificate) == (Outcome.LEAK, PROVED.certificate)


def test_one_wrong_cell_of_many_refutes_a_proof():
    few = replace(accuracy(0.6), ci=(0.3, 0.9))
    assert decide(QUESTION, [replace(attempt(PROVED, few), told_right=1999 / 2000)]).outcome is Outcome.ERRORED


def test_a_leak_whose_proof_the_truth_contradicts_is_a_leak_without_a_proof():
    found = decide(QUESTION, [replace(attempt(PROVED, accuracy(0.97)), told_right=0.97)])
    assert (found.outcome, found.certificate) == (Outcome.LEAK, "")
    assert "the truth contradicts" in found.why


def test_the_share_of_cells_is_of_all_runs():
    runs = [replace(attempt(guess(Status.PARTIAL), accuracy(0.9)), cells_recovered=share) for share in (1.0, 0.5)]
    assert decide(QUESTION, runs).cells_recovered == 0.75


@pytest.mark.parametrize(("value", "baseline", "outcome"), [(0.5, 0.5, "errored"), (1.0, 1.0, "no_leak")])
def test_a_proof_that_the_truth_contradicts_is_no_clean_bill(value, baseline, outcome):
    found = decide(QUESTION, [attempt(PROVED, replace(accuracy(value), baseline=baseline))])
    assert (found.outcome.value, found.severity) == (outcome, Severity.NONE)
    assert ("the truth contradicts" in found.why) == (outcome == "errored")


@pytest.mark.parametrize("proof", list(Proof))
@pytest.mark.parametrize("leaking", [frozenset[str](), frozenset({"age"})])
def test_columns_of_a_proved_table_leak_where_something_was_learnt_unless_luck_names_them(proof, leaking):
    columns = [ColumnResult("age", 4, 0.0, 0.1, 1.0, 1.0, 0.9), ColumnResult("sum", 4, 0.0, 0.1, 1.0, 1.0, 0.0)]
    found = _columns_over_runs([columns, columns], Luck(0.5, {"age": 0.2}, leaking), proof)
    assert [column.leaks for column in found] == [proof is Proof.CONFIRMED or bool(leaking), False]
    assert [column.p_value for column in found] == [0.2, None]
