"""Secrets of very many rows are scored on some of them, and say so; small ones on all."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.inversion.rotation_matching import UnnamedRotationMatching
from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.core.knowledge import Knowledge
from fedleak.core.payload import ModelSpec, Table
from fedleak.core.whole.truth import SecretValues, Served
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.trial import scored_rows
from fedleak.trial.attempt import Attempt, scored
from fedleak.trial.scored_rows import some_rows
from prediction_runs import run_prediction, unit_federation, view_of

N_ROWS = 400


@pytest.fixture
def few(monkeypatch) -> int:
    monkeypatch.setattr(scored_rows, "MOST_ROWS", 20)
    return 20


def values() -> SecretValues:
    rows = np.random.default_rng(3).normal(size=(N_ROWS, 2))
    return SecretValues.spanning(np.arange(N_ROWS) + 7, ("a", "b"), rows)


def served() -> Served:
    ids = values().ids[::-1]
    return Served(ModelSpec("linear", {}, {}), Table(("a",), ids, ids[:, None]), np.zeros((N_ROWS, 2)))


def test_few_rows_are_all_scored():
    all_of_them = values()
    assert some_rows(all_of_them, None) == (all_of_them, None)


def test_of_many_rows_a_sample_has_its_own_values_and_the_ranges_of_all(few):
    whole = values()
    found, beside = some_rows(whole, served())
    assert found.sampled == f"{few} of {N_ROWS} rows, drawn at random"
    assert len(np.unique(found.ids)) == few
    assert np.array_equal(found.values, whole.values[found.ids - 7])
    assert np.array_equal(found.ranges, whole.ranges)
    assert beside is not None
    assert np.array_equal(np.sort(beside.inputs.ids), found.ids)
    assert np.array_equal(beside.inputs.values[:, 0], beside.inputs.ids)
    assert len(beside.confidences) == few


@pytest.mark.parametrize(("attack", "is_sampled"), [(EqualitySolving, True), (UnnamedRotationMatching, False)])
@pytest.mark.usefixtures("few")
def test_a_score_says_that_it_is_of_some_rows_and_an_answer_up_to_a_symmetry_is_scored_whole(attack, is_sampled):
    run = run_prediction(unit_federation({"bank": 3, "fintech": 2}, PredictionSettings()))
    view = view_of(run)
    guess = EqualitySolving().run(view, rng=np.random.default_rng(0))
    assert len(guess.ids) > 20
    found = scored(
        Attempt(attack, view.coalition, view.target, Knowledge(), guess, 0.0), run.truth, np.random.default_rng(0)
    )
    assert bool(found.sampled) is is_sampled
    assert found.scores[0].value == 1.0 or attack is UnnamedRotationMatching
