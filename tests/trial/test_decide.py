"""One decision over several attempts."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from fedleak.attacks.residuals.residual_sign import ResidualSign
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Guess, Status
from fedleak.core.finding import Better, Mode, Outcome, Score, Severity, Theory
from fedleak.core.knowledge import Knowledge
from fedleak.trial.attempt import Attempt, Failure
from fedleak.trial.decide import Question, decide, severity

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


def test_several_runs_have_their_mean_and_an_interval_between_them():
    runs = [attempt(guess(Status.RECOVERED), accuracy(value)) for value in (0.9, 0.92, 0.94)]
    found = decide(QUESTION, runs)
    assert found.score is not None
    assert found.score.value == pytest.approx(0.92)
    assert found.score.ci == pytest.approx((0.92 - 4.3027 * 0.02 / 3**0.5, 0.92 + 4.3027 * 0.02 / 3**0.5), abs=1e-4)
    assert found.score.n == 300


def test_a_failure_is_skipped_only_where_all_lack_something():
    assert decide(QUESTION, NOTHING_SAID[3:]).outcome is Outcome.SKIPPED
    for order in permutations(NOTHING_SAID[2:]):
        assert decide(QUESTION, order).outcome is Outcome.ERRORED


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
