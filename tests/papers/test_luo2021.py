"""The experiments of Luo et al. 2021 at their smallest."""

from __future__ import annotations

import numpy as np
import pytest

from data_files import require_data
from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.defenses.changed_settings import HiddenModel
from fedleak.defenses.coarse_confidences import TopLabel
from fedleak.defenses.collaboration_check import CollaborationCheck
from fedleak.models.score_models import Link
from fedleak.papers.luo2021 import defended_predictions as defenses
from fedleak.papers.luo2021 import fig5
from fedleak.papers.luo2021.defended_predictions import PRIOR, Case, DefensesExperiment
from fedleak.papers.luo2021.defended_trial import DefendedTrial, attacked, costs, reference_figures
from fedleak.papers.luo2021.fig5 import Fig5, measure
from fedleak.papers.luo2021.served_trial import HALF, UNIFORM, Rows, logistic, split_rows, target_columns
from fedleak.papers.luo2021.table3 import one_sigmoid_a_class
from fedleak.papers.luo2021.tables import PaperTable, paper_table
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.trial.progress import Silent


def test_the_bank_table_is_the_authors():
    require_data("bank_additional_full")
    table = paper_table("bank")
    assert table.features.shape == (30488, 20)
    assert int(table.labels.sum()) == 3859
    assert table.features.min() == 0
    assert table.features.max() == 1


def test_equality_solving_on_drive_is_exact_below_the_threshold_and_better_in_the_box_above():
    require_data("sensorless_drive")
    table = paper_table("drive")
    rows = split_rows(table, 0, fig5.SPLIT, (1200, 300, 200))
    model = logistic(table, rows)
    below, above = measure(table, rows, model, 0.2, 0), measure(table, rows, model, 0.4, 0)
    assert below["equality-solving"] < 1e-10
    assert above["equality-projection"] <= above["equality-solving"]
    assert above["largest row loss"] <= 1e-12
    assert above["equality-bayes"] <= 0.7 * above["equality-solving"]
    assert above["equality-bayes"] < min(above[UNIFORM], above[HALF])


def test_trials_are_fixed_by_their_seed():
    require_data("sensorless_drive")
    table = paper_table("drive")
    assert target_columns(table, 3, 0.2) == target_columns(table, 3, 0.2) != target_columns(table, 4, 0.2)
    one, two = (split_rows(table, 3, fig5.SPLIT, (100, 100, 100)) for _ in range(2))
    assert np.array_equal(one.predict, two.predict)
    assert not set(one.train) & set(one.predict)
    assert Fig5().seeds(quick=False) == tuple(range(10))


def test_the_authors_regression_has_a_sigmoid_a_class_and_learns():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    features = rng.random((600, 3))
    table = PaperTable("toy", ("a", "b", "c"), features, (features @ [1.0, -1.0, 0.0] > 0).astype(np.int64))
    rows = Rows(np.arange(400), np.arange(0), np.arange(400, 600))
    model, same = (one_sigmoid_a_class(table, rows, np.random.default_rng(1), epochs=250) for _ in range(2))
    confidences = model.confidences(table.features[rows.predict])
    assert model.link is Link.SIGMOID_EACH
    assert np.array_equal(model.weights, same.weights)
    assert (confidences.argmax(axis=1) == table.labels[rows.predict]).mean() > 0.9
    assert np.abs(confidences.sum(axis=1) - 1).max() > 0.01


def test_defenses_are_paired_with_the_undefended_run_and_their_costs_stand_beside():
    require_data("sensorless_drive")
    table = paper_table("drive")
    trial = DefendedTrial.start(table, 0.2, PredictionSettings(), 0, (1000, 100))
    plain, hidden = trial.under(None), trial.under(HiddenModel())
    assert np.array_equal(plain.hidden.values, hidden.hidden.values)
    assert attacked(plain, EqualitySolving(), 0).figures["within_1_percent"] == 1
    skipped = attacked(hidden, EqualitySolving(), 0)
    assert not skipped.figures
    assert "does not reveal a trained linear model" in skipped.why
    refused = trial.under(CollaborationCheck())
    assert costs(refused)["released_share"] == 0
    assert "accuracy" not in costs(refused)
    assert attacked(refused, EqualitySolving(), 0).why == (
        "nothing is released: no more unknown columns take part than the 10 equations a row"
    )
    assert costs(plain)["columns_kept_out"] == 0 < costs(refused)["columns_kept_out"]
    half = reference_figures(plain, 0.5, 0)
    assert half["mse"] == pytest.approx(np.mean((plain.hidden.values - 0.5) ** 2))


def test_the_experiment_on_defenses_gives_a_row_for_every_defense_and_attack(monkeypatch):
    require_data("sensorless_drive")
    small = Case("LR", PredictionSettings(), (EqualitySolving(),), {"top label": TopLabel()}, (600, 60))
    monkeypatch.setattr(defenses, "cases", lambda *, quick: (small,))
    monkeypatch.setattr(defenses, "REAL", ("drive",))
    rows = list(DefensesExperiment().rows(quick=True, progress=Silent()))
    found = {(row.setting["unknown share"], row.setting["defense"], row.setting["method"]): row for row in rows}
    assert {key[1:] for key in found} == {
        ("none", "equality-solving"),
        ("none", UNIFORM),
        ("none", HALF),
        ("none", PRIOR),
        ("top label", "equality-solving"),
    }
    assert found[0.2, "none", "equality-solving"].measured["mse"] < 1e-10 < found[0.2, "none", UNIFORM].measured["mse"]
    label = found[0.4, "top label", "equality-solving"]
    assert label.measured["mse"] is None
    assert label.note.startswith("1 of 1 trials: not_identifiable")
    assert label.measured["accuracy"] == found[0.4, "none", "equality-solving"].measured["accuracy"]
