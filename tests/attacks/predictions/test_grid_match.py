"""Trying every combination: complete on any kind of model, honest about ties and limits."""

from __future__ import annotations

import numpy as np
import pytest
from test_equality_grid import attacked, holds_the_truth, known, stepped

from fedleak.attacks.predictions import grid_match
from fedleak.attacks.predictions.grid_match import GridMatch
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.core.attack import Status
from fedleak.core.errors import MissingFromViewError
from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Slice
from fedleak.defenses.coarse_confidences import Rounding, TopLabel
from fedleak.defenses.leak_check import LeakCheck
from fedleak.models.tree_models import NO_CHILD, TreeModel, TreeOutput
from fedleak.protocols.prediction.served_model import PredictionSettings
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


def splits_at_every_value(values: np.ndarray) -> TreeModel:
    """fintech0 <= the first, <= the second, ...: a leaf of its own for each value."""
    cuts = values[:-1]
    n_nodes = 2 * len(cuts) + 1  # a split, its left leaf, the next split, ...
    inner = np.arange(n_nodes) % 2 == 0
    inner[-1] = False
    nodes = np.arange(n_nodes)
    share = (nodes + 1) / (n_nodes + 1)
    return TreeModel(
        ("bank0", "fintech0"),
        np.where(inner, nodes + 1, NO_CHILD),
        np.where(inner, nodes + 2, NO_CHILD),
        np.where(inner, 1, 0),
        np.where(inner, values[nodes // 2], 0.0),
        np.column_stack([share, 1 - share]),
        TreeOutput.FRACTIONS,
    )


@pytest.mark.parametrize("values", [np.arange(18.0, 79.0), np.arange(50) / 49, np.arange(101) / 100])
def test_a_tree_that_splits_at_the_values_themselves_is_asked_for_those_values(values):
    ages = values[:, None]
    ids = np.arange(len(ages))
    parties = (
        Party("bank", Role.ACTIVE, ("bank0",), Slice(ids, np.zeros_like(ages), ids % 2)),
        Party("fintech", Role.PASSIVE, ("fintech0",), Slice(ids, ages)),
    )
    federation = Federation("vertical-prediction", parties, PredictionSettings(unit_box=False))
    run = run_prediction(federation, model=splits_at_every_value(values))
    ends = float(values[0]), float(values[-1])
    column = KnownColumn("fintech", "fintech0", None, *ends, step=(ends[1] - ends[0]) / (len(values) - 1))
    guess = attacked(run, Knowledge(columns=(column,)), attack=GridMatch)
    assert guess.status is Status.RECOVERED
    np.testing.assert_allclose(guess.values, ages, rtol=1e-14)


@pytest.mark.parametrize("attack", [GridMatch, PosteriorInference])
def test_a_flag_that_no_tree_asks_for_is_taken_to_be_as_rare_as_own_flags(attack):
    """Its rows were not counted: an even chance was the worst answer, wrong by half in every row."""
    ids = np.arange(400)
    own, hidden = (np.stack([(ids + shift) % 10 == 0 for shift in shifts], axis=1) for shifts in ((0, 1), (5,)))
    parties = (
        Party("bank", Role.ACTIVE, ("bank0", "bank1"), Slice(ids, own.astype(float), ids % 2)),
        Party("fintech", Role.PASSIVE, ("fintech0",), Slice(ids, hidden.astype(float))),
    )
    federation = Federation("vertical-prediction", parties, PredictionSettings(unit_box=False))
    asks_for_own = TreeModel(
        ("bank0", "bank1", "fintech0"),
        left=np.array([1, NO_CHILD, NO_CHILD]),
        right=np.array([2, NO_CHILD, NO_CHILD]),
        feature=np.array([0, 0, 0]),
        threshold=np.array([0.5, 0.0, 0.0]),
        fractions=np.array([[0.5, 0.5], [0.6, 0.4], [0.2, 0.8]]),
        counts=np.array([400, 360, 40]),
    )
    guess = attacked(run_prediction(federation, model=asks_for_own), known((1,)), attack=attack)
    np.testing.assert_allclose(guess.values, 0.12, atol=0.08)


@pytest.mark.parametrize("defense", [Rounding(digits=2), TopLabel()], ids=["two digits", "label"])
def test_less_is_released_and_the_truth_still_fits(defense):
    run = run_prediction(served_by("logistic"), defense=defense)
    guess = attacked(run, known(STEPS), defense, GridMatch)
    assert guess.status is Status.PARTIAL
    assert guess.evidence["rows with several"] > 0
    assert holds_the_truth(guess, run)


def test_too_many_combinations_are_refused_before_any_is_tried(monkeypatch):
    monkeypatch.setattr(grid_match, "MOST_EVALUATIONS", 1000)
    run = run_prediction(served_by("logistic"))
    with pytest.raises(MissingFromViewError, match="too many to try on 60 rows"):
        attacked(run, known(STEPS), attack=GridMatch)


def test_of_many_predictions_as_many_are_tried_as_the_budget_allows_and_it_says_so(monkeypatch):
    run = run_prediction(served_by("logistic"))
    whole = attacked(run, known(STEPS), attack=GridMatch)
    n_points = int(np.prod(np.array(STEPS) + 1))
    monkeypatch.setattr(grid_match, "MOST_EVALUATIONS", 20 * n_points + 1)
    monkeypatch.setattr(grid_match, "LEAST_ROWS", 20)
    guess = attacked(run, known(STEPS), attack=GridMatch)
    assert (whole.evidence["rows tried"], guess.evidence["rows tried"]) == (60, 20)
    assert guess.status is Status.PARTIAL
    assert guess.why.endswith("the first 20 rows were tried, the others are answered without the model")
    np.testing.assert_array_equal(guess.intervals[:20], whole.intervals[:20])
    assert (np.diff(guess.intervals[20:], axis=2) == np.diff(guess.intervals[-1:], axis=2)).all(), "the whole range"
    assert holds_the_truth(guess, run)


def test_a_continuous_column_is_refused():
    run = run_prediction(served_by("logistic", (3, 0, 4)))
    with pytest.raises(MissingFromViewError, match="1 of 3 hidden columns have no known step"):
        attacked(run, known((3, 0, 4)), attack=GridMatch)


def test_where_all_rows_are_withheld_nothing_is_recovered():
    run = run_prediction(served_by("logistic"), defense=LeakCheck(width=0.01, share=0.0))
    guess = attacked(run, known(STEPS), attack=GridMatch)
    assert not len(guess.ids)
    assert guess.status is Status.NOT_IDENTIFIABLE
