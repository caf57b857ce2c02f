"""Trying every combination: complete on any kind of model, honest about ties and limits."""

from __future__ import annotations

import numpy as np
import pytest
from test_equality_grid import attacked, holds_the_truth, known, stepped

from fedleak.attacks.equality import exhaustive
from fedleak.attacks.features.grid_match import GridMatch
from fedleak.core.errors import MissingFromViewError
from fedleak.core.federation import Federation
from fedleak.core.guess import Status
from fedleak.defenses.rounding import Rounding
from fedleak.defenses.top_label import TopLabel
from fedleak.protocols.prediction.settings import PredictionSettings
from prediction_runs import run_prediction, squared_error

STEPS = (3, 1, 4)


def served_by(model: str, steps: tuple[int, ...] = STEPS) -> Federation:
    settings = PredictionSettings(model=model, epochs=3, hidden=(12, 6), n_trees=60)
    federation = stepped(steps, n_classes=3)
    return Federation(federation.protocol, federation.parties, settings)


@pytest.mark.parametrize("model", ["logistic", "network"])
def test_smooth_models_give_everything_away(model):
    run = run_prediction(served_by(model))
    guess = attacked(run, known(STEPS), attack=GridMatch)
    assert guess.status is Status.RECOVERED
    assert squared_error(guess, run) < 1e-25


@pytest.mark.parametrize("model", ["tree", "forest"])
def test_votes_leave_several_and_the_truth_is_among_them(model):
    run = run_prediction(served_by(model))
    guess = attacked(run, known(STEPS), attack=GridMatch)
    assert guess.evidence["rows with one solution"] + guess.evidence["rows with several"] == len(guess.ids)
    assert holds_the_truth(guess, run)
    truth = run.truth.of(guess.secret).values
    assert squared_error(guess, run) < np.mean((truth - 0.5) ** 2)


@pytest.mark.parametrize("defense", [Rounding(digits=2), TopLabel()], ids=["two digits", "label"])
def test_less_is_released_and_the_truth_still_fits(defense):
    run = run_prediction(served_by("logistic"), defense=defense)
    guess = attacked(run, known(STEPS), defense, GridMatch)
    assert guess.status is Status.PARTIAL
    assert guess.evidence["rows with several"] > 0
    assert holds_the_truth(guess, run)


def test_too_many_combinations_are_refused_before_any_is_tried(monkeypatch):
    monkeypatch.setattr(exhaustive, "MOST_EVALUATIONS", 1000)
    run = run_prediction(served_by("logistic"))
    with pytest.raises(MissingFromViewError, match="too many to try on 60 rows"):
        attacked(run, known(STEPS), attack=GridMatch)


def test_a_continuous_column_is_refused():
    run = run_prediction(served_by("logistic", (3, 0, 4)))
    with pytest.raises(MissingFromViewError, match="1 of 3 hidden columns have no known step"):
        attacked(run, known((3, 0, 4)), attack=GridMatch)
