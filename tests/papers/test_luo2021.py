"""The experiments of Luo et al. 2021 at their smallest."""

from __future__ import annotations

import numpy as np
import pytest

from data_files import require_data
from fedleak.models.linear import Link
from fedleak.papers.luo2021 import fig5
from fedleak.papers.luo2021.authors_model import one_sigmoid_a_class
from fedleak.papers.luo2021.fig5 import Fig5, logistic, measure
from fedleak.papers.luo2021.references import HALF, UNIFORM
from fedleak.papers.luo2021.tables import PaperTable, paper_table
from fedleak.papers.luo2021.trial import Rows, split_rows, target_columns


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
