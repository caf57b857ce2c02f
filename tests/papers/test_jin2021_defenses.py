"""What defenses of gradients leave and cost: the figures that the experiments are made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.defenses.fake_gradients import FakeGradients
from fedleak.papers.jin2021.defended_gradients import _correlation, _near, _play, _table_figures, losses
from fedleak.papers.jin2021.fully_connected_tables import SPECS, table_federation
from fedleak.papers.jin2021.split_labels import TABLES, federation

pytest.importorskip("torch")


def test_shares_and_correlations_are_those_of_columns() -> None:
    true = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]])
    assert _near(true + np.array([0.01, 0.3]), true) == {"cells_to_1_percent": 0.5, "cells_to_10_percent": 0.5}
    assert _correlation(2 * true + 5, true) == pytest.approx(1.0)
    assert _correlation(np.ones_like(true), true) == 0.0


def test_losses_are_of_the_same_start_and_fall_with_true_gradients() -> None:
    small = table_federation(SPECS["breast cancer"], 7, n_rows=40, size=8)
    settings = replace(small.settings, trained=True, rounds=12, learning_rate=0.1, bottom=("linear 4",))
    small = replace(small, settings=settings)
    honest, printed = (losses(_play(small, 7, one)) for one in (None, FakeGradients(scaled=False)))
    assert list(honest) == [0, 2, 5, 8, 11]
    assert honest[0] == printed[0]
    assert honest[11] < honest[0]
    assert printed[2] != honest[2]


def test_fakes_blur_what_true_gradients_give() -> None:
    small = table_federation(SPECS["breast cancer"], 7, n_rows=12, size=4)
    small = replace(small, settings=replace(small.settings, bottom=("linear 8", "activation sigmoid", "linear 4")))
    (true, blind), (fake, _) = (_table_figures(small, 7, one) for one in (None, FakeGradients()))
    assert true["cells_to_1_percent"] == 1.0
    assert blind["correlation"] == 0.0
    assert true["correlation"] == pytest.approx(1.0)
    assert fake["correlation"] < 0.9


def test_rare_labels_are_as_rare_as_said() -> None:
    bank, fintech = federation(TABLES[0].spec, (), 7).parties
    assert (bank.train.labels.mean(), len(bank.train.labels)) == (0.05, 300)
    assert bank.test.labels.sum() == 4
    assert not set(bank.train.ids) & set(bank.test.ids)
    assert not set(bank.columns) & set(fintech.columns)
