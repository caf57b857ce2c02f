"""The prediction protocol: who sees what, and that names decide about columns."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.core.adversary import Capability
from fedleak.core.attack import Status
from fedleak.core.errors import InputError
from fedleak.models import LinearModel, TreeOutput
from fedleak.models.interpret import save_model
from fedleak.models.joint_training import train_tree
from fedleak.protocols.prediction import vocabulary as prediction
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.protocols.prediction.vertical_prediction import VerticalPrediction
from prediction_runs import run_prediction, squared_error, unit_federation, view_of

RNG = np.random.default_rng(0)
TWO = {"bank": 3, "fintech": 2}


def test_the_active_party_sees_model_and_confidences_and_nothing_else():
    run = run_prediction(unit_federation(TWO, PredictionSettings()))
    seen = {message.step for message in view_of(run).messages}
    assert seen == {"setup.columns", "predict.model", "predict.request", "predict.confidences"}
    assert set(view_of(run).locals) == {"bank"}
    partner = {message.step for message in view_of(run, ("fintech",), "bank").messages}
    assert partner == {"setup.columns", "predict.request"}


def test_predicted_rows_are_not_trained_on():
    run = run_prediction(unit_federation(TWO, PredictionSettings(prediction_share=0.25)))
    records = {record.name: record.value for record in run.locals["bank"]}
    assert len(records["features"].ids) == 50
    assert not set(records["features"].ids) & set(records["training-features"].ids)


@pytest.mark.parametrize("reveal", ["nothing", "contributions"])
def test_a_hidden_model_is_not_sent_and_not_counted_as_revealed(reveal):
    settings = PredictionSettings(reveal=reveal)
    federation = unit_federation(TWO, settings)
    run = run_prediction(federation)
    assert not list(view_of(run).at(prediction.MODEL))
    facts = tuple(party.facts for party in federation.parties)
    found = VerticalPrediction.reveals(settings, facts, ("bank",))
    assert Capability.MODEL not in found
    assert (Capability.CONTRIBUTIONS in found) == (reveal == "contributions")


def test_a_model_with_another_column_order_gives_the_same_answers(tmp_path):
    federation = unit_federation(TWO, PredictionSettings())
    base = next(r.value for r in run_prediction(federation).locals[prediction.JOINT_COMPUTATION] if r.name == "model")
    order = np.array([4, 2, 0, 3, 1])
    names = ("bank0", "bank1", "bank2", "fintech0", "fintech1")
    weights = np.asarray(base.arrays["weights"])
    straight = LinearModel(names, weights, np.asarray(base.arrays["bias"]))
    turned = LinearModel(tuple(names[i] for i in order), weights[:, order], np.asarray(base.arrays["bias"]))
    errors = []
    for model in (straight, turned):
        save_model(model, tmp_path / "model.npz")
        settings = PredictionSettings(model_file=str(tmp_path / "model.npz"), prediction_share=1.0)
        run = run_prediction(unit_federation(TWO, settings))
        guess = EqualitySolving().run(view_of(run), rng=RNG)
        errors.append(squared_error(guess, run))
        assert guess.status is Status.RECOVERED
    assert max(errors) < 1e-20


def test_a_model_of_other_columns_or_of_another_kind_is_an_error(tmp_path):
    path = tmp_path / "model.npz"
    save_model(LinearModel(("a", "b", "c", "d", "e"), np.ones((3, 5)), np.zeros(3)), path)
    settings = PredictionSettings(model_file=str(path), prediction_share=1.0)
    with pytest.raises(InputError, match="'a'"):
        run_prediction(unit_federation(TWO, settings))
    with pytest.raises(InputError, match='"logistic"'):
        run_prediction(
            unit_federation(TWO, PredictionSettings(model="tree", model_file=str(path), prediction_share=1.0))
        )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (PredictionSettings(model="opaque"), "audit_model"),
        (PredictionSettings(prediction_share=1.0), "must be below 1 where a model is trained"),
    ],
)
def test_what_a_scenario_cannot_train_is_an_error(settings, said):
    with pytest.raises(InputError, match=said):
        run_prediction(unit_federation(TWO, settings))


def test_an_opaque_model_is_a_model_and_of_no_kind():
    facts = tuple(party.facts for party in unit_federation(TWO, PredictionSettings()).parties)
    found = VerticalPrediction.reveals(PredictionSettings(model="opaque"), facts, ("bank",))
    assert Capability.MODEL in found
    assert not found & {Capability.LINEAR_MODEL, Capability.TREE_MODEL, Capability.FOREST_MODEL}


def test_coalitions_collapse_and_one_victim_is_answered_for():
    run = run_prediction(unit_federation({"bank": 2, "fintech": 2, "shop": 3}, PredictionSettings()))
    guess = EqualitySolving().run(view_of(run, ("bank", "shop")), rng=RNG)
    assert guess.status is Status.RECOVERED
    assert guess.values.shape[1] == 2
    assert squared_error(guess, run) < 1e-16
    alone = EqualitySolving().run(view_of(run, ("bank",)), rng=RNG)
    assert alone.status is Status.PARTIAL
    assert alone.evidence["unknown columns"] == 5


def test_columns_outside_the_promised_box_are_refused():
    federation = unit_federation(TWO, PredictionSettings())
    wide = federation.parties[0].train.features * 3
    from dataclasses import replace

    party = replace(federation.parties[0], train=replace(federation.parties[0].train, features=wide))
    with pytest.raises(InputError, match="minmax"):
        run_prediction(replace(federation, parties=(party, *federation.parties[1:])))


def test_tree_outputs_are_one_hot_and_forest_outputs_vote_fractions():
    settings = PredictionSettings(model="forest", n_trees=8)
    run = run_prediction(unit_federation(TWO, settings))
    votes = next(m.payload.values for m in run.transcript.messages if m.step == "predict.confidences") * 8
    np.testing.assert_allclose(votes, np.rint(votes), atol=1e-9)
    tree = train_tree(
        np.linspace(0, 1, 40)[:, None],
        np.repeat([0, 1], 20),
        ["a"],
        depth=2,
        output=TreeOutput.ONE_HOT,
        rng=np.random.default_rng(0),
    )
    assert set(np.unique(tree.confidences(np.array([[0.1], [0.9]])))) == {0.0, 1.0}


def test_no_party_is_called_as_the_computation_is():
    with pytest.raises(InputError, match="a party must not be called 'joint computation'"):
        run_prediction(unit_federation({"bank": 2, "joint computation": 2}, PredictionSettings()))
