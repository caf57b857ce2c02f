"""Any model of a user's, served as one that can be asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier

from fedleak.adapters.own_model import audit_model
from fedleak.core.errors import InputError
from fedleak.core.finding import Outcome
from fedleak.defenses.changed_settings import HiddenModel
from fedleak.defenses.coarse_confidences import TopLabel
from fedleak.defenses.collaboration_check import CollaborationCheck
from fedleak.defenses.leak_check import LeakCheck

RNG = np.random.default_rng(4)
FRAME = pd.DataFrame(RNG.random((120, 4)) * [1, 100, 5, 1], columns=["age", "income", "deposit", "visits"])
LABELS = np.where(FRAME["deposit"] + RNG.normal(0, 0.3, 120) > 2.5, "good", "bad")
LINEAR = {"equality-solving", "equality-projection", "equality-bayes"}


def by_attack(report, defense=None):
    return {finding.attack: finding for finding in report.findings if finding.defense == defense}


@pytest.mark.parametrize(
    "estimator", [GradientBoostingClassifier(n_estimators=10, random_state=0), KNeighborsClassifier()]
)
def test_attacks_that_need_answers_alone_run_and_the_others_say_why_not(estimator):
    estimator.fit(FRAME, LABELS)
    turned = FRAME[FRAME.columns[::-1]]
    found = by_attack(audit_model(estimator, turned, LABELS, hidden=["deposit"]))
    for name in ("posterior-inference", "generative-regression"):
        assert found[name].outcome in (Outcome.LEAK, Outcome.NO_LEAK), found[name].why
        assert found[name].score is not None
    for name in LINEAR | {"path-restriction", "forest-path-restriction"}:
        assert found[name].outcome is Outcome.SKIPPED
        assert "does not give label holder a trained" in found[name].why


def says_the_deposit(rows):
    second = 0.1 + 0.8 * rows[:, 2] / 5
    return np.column_stack([1 - second, second])


def test_a_function_that_gives_a_column_away_is_found_out_under_defenses_too():
    defenses = [TopLabel(), HiddenModel(), LeakCheck(), CollaborationCheck()]
    report = audit_model(
        says_the_deposit, FRAME, LABELS, hidden=["deposit"], attacks=["posterior-inference"], defenses=defenses
    )
    plain = by_attack(report)["posterior-inference"]
    assert plain.outcome is Outcome.LEAK
    assert plain.score.value < 0.2 * plain.score.baseline
    hidden = next(f for f in report.findings if f.defense and f.defense.startswith("hidden-model"))
    assert hidden.outcome is Outcome.SKIPPED
    assert "the trained model" in hidden.why
    assert not [f for f in report.findings if f.outcome is Outcome.ERRORED]


def test_a_model_that_fails_on_the_adversarys_rows_fails_that_attack_alone():
    true_rows = FRAME.to_numpy()

    def picky(rows):
        if not np.isin(rows[:, 2], true_rows[:, 2]).all():
            raise RuntimeError("unheard of")
        return says_the_deposit(rows)

    found = by_attack(audit_model(picky, FRAME, LABELS, hidden=["deposit"], attacks=["posterior-inference"]))
    assert found["posterior-inference"].outcome is Outcome.ERRORED
    assert "it raised RuntimeError: unheard of" in found["posterior-inference"].why


def test_columns_of_few_values_are_found_by_asking_for_each():
    frame = FRAME.assign(visits=RNG.integers(0, 5, len(FRAME)).astype(float))
    estimator = GradientBoostingClassifier(random_state=0).fit(
        frame, (frame["visits"] / 4 + frame["age"] > 1).astype(int)
    )
    labels = estimator.predict(frame)
    found = by_attack(audit_model(estimator, frame, labels, hidden=["visits"], attacks=["grid-match"]))
    assert found["grid-match"].outcome is Outcome.LEAK


def test_an_attack_that_finds_what_it_needs_missing_is_skipped_with_the_reason():
    report = audit_model(says_the_deposit, FRAME, LABELS, hidden=["deposit"], attacks=["grid-match"])
    assert [finding.outcome for finding in report.findings] == [Outcome.SKIPPED]
    assert report.findings[0].why


def test_labels_that_the_model_does_not_know_are_told():
    estimator = KNeighborsClassifier().fit(FRAME, LABELS)
    with pytest.raises(InputError, match="labels must be of the model's 2 classes"):
        audit_model(estimator, FRAME, np.where(LABELS == "good", "excellent", LABELS), hidden=["deposit"])


def test_a_missing_column_is_named():
    estimator = KNeighborsClassifier().fit(FRAME, LABELS)
    with pytest.raises(InputError, match="must have the model's input 'visits'"):
        audit_model(estimator, FRAME.drop(columns="visits"), LABELS, hidden=["deposit"])
