"""Defenses of predictions: what is released, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import InputError
from fedleak.core.facts import Facts
from fedleak.defenses.changed_settings import Dropout, HiddenModel
from fedleak.defenses.coarse_confidences import ConfidenceNoise, Rounding, TopLabel
from fedleak.defenses.collaboration_check import CollaborationCheck, column_risks
from fedleak.defenses.leak_check import LeakCheck
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.theory.condition import State
from fedleak.theory.prediction_bounds import exact_confidences
from prediction_runs import run_prediction, unit_federation

WIDE, NARROW = {"bank": 3, "fintech": 6}, {"bank": 3, "fintech": 2}


def released(widths, defense, **settings):
    run = run_prediction(unit_federation(widths, PredictionSettings(**settings)), defense=defense)
    values = next(m.payload.values for m in run.transcript.messages if m.step == "predict.confidences")
    return np.asarray(values), run.utility


def test_rounding_down_and_to_the_nearest():
    exact, _ = released(WIDE, None)
    down, _ = released(WIDE, Rounding(digits=2))
    nearest, _ = released(WIDE, Rounding(digits=2, mode="nearest"))
    np.testing.assert_allclose(down, np.floor(exact * 100) / 100)
    np.testing.assert_allclose(nearest, np.round(exact, 2))
    assert (down <= exact).all()


@pytest.mark.parametrize("defense", [Rounding(digits=0), Rounding(), ConfidenceNoise(), TopLabel(), LeakCheck()])
def test_theory_knows_that_confidences_are_changed(defense):
    bare = Facts("vertical-prediction", ())
    assert exact_confidences(bare).state is State.HOLDS
    assert exact_confidences(defense.declare(bare)).state is State.FAILS


def test_the_top_label_keeps_the_accuracy_and_nothing_else():
    _, plain = released(WIDE, None)
    values, utility = released(WIDE, TopLabel())
    assert set(np.unique(values)) == {0.0, 1.0}
    assert utility["prediction_accuracy"] == plain["prediction_accuracy"]


def test_noise_stays_within_0_and_1_and_has_its_size():
    exact, _ = released(WIDE, None)
    noisy, _ = released(WIDE, ConfidenceNoise(sigma=0.02))
    inner = (exact > 0.2) & (exact < 0.8)
    assert 0.012 < (noisy - exact)[inner].std() < 0.03
    assert noisy.min() >= 0
    assert noisy.max() <= 1


def test_settings_that_defenses_change():
    federation = unit_federation(WIDE, PredictionSettings(model="network"))
    assert Dropout(share=0.3).configure(federation).settings.dropout == 0.3
    assert HiddenModel().configure(federation).settings.reveal == "nothing"
    assert HiddenModel(explanations=True).configure(federation).settings.reveal == "contributions"


def test_the_check_before_collaborating_withholds_where_equations_are_exact():
    values, utility = released(NARROW, CollaborationCheck())
    assert np.isnan(values).all()
    assert utility["released_share"] == 0
    assert "prediction_accuracy" not in utility
    values, utility = released(WIDE, CollaborationCheck())
    assert np.isfinite(values).all()


def test_correlated_columns_are_found_and_blanked():
    federation = unit_federation(WIDE, PredictionSettings())
    bank, fintech = federation.parties
    copied = fintech.train.features.copy()
    copied[:, 0] = bank.train.features.mean(axis=1)
    federation = replace(federation, parties=(bank, replace(fintech, train=replace(fintech.train, features=copied))))
    risks = {risk.column: risk.correlation for risk in column_risks(federation)}
    assert risks["fintech0"] > 0.4 > max(value for name, value in risks.items() if name != "fintech0")
    run = run_prediction(federation, defense=CollaborationCheck(max_correlation=0.4))
    table = next(record.value for record in run.locals["fintech"] if record.name == "features")
    assert np.ptp(table.values[:, 0]) == 0
    assert np.ptp(table.values[:, 1]) > 0.5
    assert table.values[0, 0] == 0.5, "a public constant: a mean could be solved for"
    real = run.truth.of(Secret(SecretKind.FEATURES, "fintech")).values
    np.testing.assert_array_equal(real[:, 0], copied[np.isin(fintech.train.ids, table.ids), 0])


def test_the_check_before_releasing_withholds_what_pins_cells_down():
    values, utility = released(NARROW, LeakCheck())
    assert np.isnan(values).all()
    assert utility["released_share"] == 0
    _, utility = released(WIDE, LeakCheck(width=1e-6, share=0.99))
    assert utility["released_share"] == 1
    _, tree = released(WIDE, LeakCheck(width=0.9, share=0.1), model="tree")
    assert 0 <= tree["released_share"] < 1


def test_columns_kept_out_leave_fewer_unknowns_and_may_make_the_rest_exact():
    federation = unit_federation(WIDE, PredictionSettings())
    bank, fintech = federation.parties
    copied = fintech.train.features.copy()
    copied[:, :4] = bank.train.features.mean(axis=1, keepdims=True)
    federation = replace(federation, parties=(bank, replace(fintech, train=replace(fintech.train, features=copied))))
    assert run_prediction(federation).utility["released_share"] == 1
    refused = run_prediction(federation, defense=CollaborationCheck(max_correlation=0.4))  # 2 columns, 3 classes
    assert refused.utility["released_share"] == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rounding(digits=-1),
        lambda: Rounding(mode="up"),
        lambda: ConfidenceNoise(sigma=0),
        lambda: Dropout(share=1),
        lambda: CollaborationCheck(max_correlation=0),
        lambda: LeakCheck(width=2),
    ],
)
def test_wrong_parameters_are_one_clear_error(make):
    with pytest.raises(InputError, match=r"must be"):
        make()
