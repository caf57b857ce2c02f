"""Every experiment whose figures have bands says of which kind they are, from made-up trials to the row."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.attacks.predictions.generative_regression import GenerativeRegressionNetwork
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.metrics.branching_rate import Branching
from fedleak.papers.experiment import Band
from fedleak.papers.hu2022 import fig2_to_4, multiparty
from fedleak.papers.hu2022.training_by_epoch import gather
from fedleak.papers.li2021 import gram_precision, table2_and_3, table4
from fedleak.papers.li2021.printed import TABLE2, TABLE4
from fedleak.papers.luo2021 import defended_predictions, few_valued_columns, fig5, fig6, fig7, fig10, fig11, table3
from fedleak.papers.luo2021.defended_trial import Measured
from fedleak.papers.luo2021.served_trial import UNIFORM
from fedleak.trial.progress import Silent

TABLE = SimpleNamespace(name="bank", columns=("a", "b", "c", "d"), n_classes=2)
MSE = {"mse": Band.STUDENT_95}


def of_hu2022_epochs():
    curves = gather([dict.fromkeys(fig2_to_4.Fig4.figures, np.array([value])) for value in (0.5, 0.75)])
    return fig2_to_4.Fig4()._with_paper(fig2_to_4.Case("zero", 0.5), curves, "")


def of_hu2022_parties():
    return [multiparty._row(multiparty.cases()[0], np.array([0.5, 1.0]), 0.5)]


def of_li2021_vertical():
    runs = [table2_and_3.Measured(error, 1.0, 0.1, 0.1, 1, 0.0, 0.0, "") for error in (0.1, 0.2)]
    return [table2_and_3._row(TABLE2[0], runs)]


def of_li2021_horizontal():
    return [table4._row(TABLE4[0], True, [table4._Measured(error, 1.0, 0.1, 0.1, 1, 0.0, "") for error in (0.1, 0.2)])]


def of_luo2021_equality():
    trial = {EqualitySolving.name: 0.1, UNIFORM: 0.2, "bound": 1.0}
    return list(fig5._rows(TABLE, 0.5, [trial, trial | {UNIFORM: 0.4}]))


def of_luo2021_paths():
    trials = [({name: Branching(3, 4) for name in ("ours", fig6.RANDOM_PATH)}, 2.0)] * 2
    return list(fig6._rows(TABLE, 0.5, trials))


def of_luo2021_rounding():
    rows = [fig11._row(TABLE, "LR", "b=1", EqualitySolving.name, 0.5, [{"mse": 0.1, "accuracy": 1.0, "random": 0.2}])]
    assert fig11.Fig11().panels(rows)[0].curves[0].y == [0.1]
    return rows


def of_luo2021_ablation():
    cases = (*table3.CASES, table3.RANDOM_CASE)
    trials = {case: [{"mse": 0.1, "noise_variance": 0.0}, {"mse": 0.2, "noise_variance": 0.0}] for case in cases}
    return list(table3._rows(table3.QUICK[0], trials))


def of_luo2021_types():
    trial = {"right": 0.5, "mse": 0.1, "half": 0.2, "commonest": 0.4}
    return [few_valued_columns._row(TABLE, "LR", (2, "exact", "grid-match"), [trial, trial], 2, "")]


def of_luo2021_features():
    return list(fig10._features("bank", "ours", [{"a": np.array([0.1, 0.2, 0.3, 0.4])}] * 2))


def of_luo2021_defenses():
    trial = dict.fromkeys((defended_predictions.COSTS, UNIFORM, "ours"), Measured({"mse": 0.1, "other": 0.2}))
    return list(defended_predictions._rows({}, {"rounding": [trial, trial]}))


@pytest.mark.parametrize(
    ("rows", "bands"),
    [
        (of_hu2022_epochs, dict.fromkeys(fig2_to_4.Fig4.figures, Band.STANDARD_ERROR)),
        (of_hu2022_parties, {"success": Band.STANDARD_ERROR}),
        (of_li2021_vertical, {"relative_error": Band.MIN_MAX}),
        (of_li2021_horizontal, {"relative_error": Band.MAX}),
        (of_luo2021_equality, MSE),
        (of_luo2021_paths, {"cbr": Band.STUDENT_95}),
        (of_luo2021_rounding, MSE),
        (of_luo2021_ablation, MSE),
        (of_luo2021_types, {"right_cells": Band.STUDENT_95}),
        (of_luo2021_features, MSE),
        (of_luo2021_defenses, MSE),
    ],
)
def test_rows_say_of_which_kind_their_bands_are(rows, bands):
    found = rows()
    assert found
    assert all(row.bands == bands for row in found)


def test_the_ratio_of_two_ways_has_its_largest_beside_it(monkeypatch):
    monkeypatch.setattr(gram_precision, "_errors", lambda width, rows, bits, seed: (2.0, 1.0 + seed))
    row = next(gram_precision.GramPrecision().rows(quick=False, progress=Silent()))
    assert row.bands == {"rank_aware_over_naive": Band.MAX}
    assert (row.measured["rank_aware_over_naive"], row.measured["rank_aware_over_naive_high"]) == (1.0, 1.5)


def test_every_figure_of_generative_regression_has_an_interval_of_its_own():
    trial = {GenerativeRegressionNetwork.name: {"mse": 0.2}, PosteriorInference.name: {"mse": 0.1}}
    trial[UNIFORM] = {"mse": 0.3, "cbr": 0.5}
    rows = list(fig7._rows(TABLE, "RF", 0.4, [trial, trial]))
    assert [list(row.bands) for row in rows] == [["mse"], ["mse", "mse_below_generative"], ["mse", "cbr"]]
    assert {band for row in rows for band in row.bands.values()} == {Band.STUDENT_95}
    assert fig7.Fig7().panels(rows)[0].title == "bank, RF"
