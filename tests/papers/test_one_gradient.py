"""One gradient, solved: figures are of test rows, in the order that fits best, and say what was not found."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.papers.experiment import Band
from fedleak.papers.jin2021.many_pictures import _figures as many_figures
from fedleak.papers.jin2021.many_pictures import _row as many_row
from fedleak.papers.jin2021.one_gradient_case import (
    TABLE,
    GradientCase,
    figures_of,
    problem_of,
    solve,
    squared_error,
)
from fedleak.papers.jin2021.one_gradient_pictures import OneGradientPictures, _row
from fedleak.papers.jin2021.printed import MNIST
from fedleak.papers.jin2021.relu_batches import DEEP_TABLE, batch_figures, batch_row, timed_batch


@pytest.fixture(scope="module")
def problem():
    return problem_of(GradientCase(TABLE, 3), 0)


def test_rows_of_a_table_come_out(problem):
    found = solve(problem, 0)
    assert squared_error(problem, found.inputs) < 1e-8
    assert squared_error(problem, np.full(problem.inputs.shape, 0.5)) > 1e-2


def test_a_batch_has_no_order(problem):
    assert squared_error(problem, problem.inputs[::-1]) == 0.0


def test_a_model_is_trained_before_its_gradient_is_taken():
    before, after = (problem_of(GradientCase(TABLE, 2, steps), 0).seen.network for steps in (0, 2))
    assert any((before.parameters[name] != after.parameters[name]).any() for name in before.parameter_order)


def test_rows_are_over_seeds_and_keep_what_was_not_told():
    found = figures_of(GradientCase(MNIST, 1), 0, 40)
    assert found["label_counts_exact"] == 1.0
    assert found["psnr"] > found["grey"] + 6
    row = _row(GradientCase(MNIST, 1), [found, {**found, "h_error": None, "psnr": found["grey"]}])
    assert row.measured["psnr_low"] == found["grey"]
    assert row.measured["h_error"] == found["h_error"]
    assert row.bands["h_error"] is Band.MAX


def test_sizes_are_planned_trained_and_untrained():
    planned = {(case.dataset, case.n_rows, case.n_trained > 0) for case in OneGradientPictures().cases(quick=False)}
    assert len(planned) == 16


def test_a_table_through_relu_comes_out_and_says_what_it_vouches_for():
    problem = problem_of(GradientCase(TABLE, 4), 10, lines=DEEP_TABLE, part="train")
    found = batch_figures(problem, *timed_batch(problem, 10))
    assert found["called_recovered"] == found["exact"] == found["label_counts_exact"] == 1.0
    assert found["largest_error"] < 1e-5 < found["error_of_one_half"]
    unsolved = {**found, "called_recovered": 0.0, "exact": 0.0, "largest_error": None}
    row = batch_row(GradientCase(TABLE, 4), [found, unsolved], 512)
    assert row.measured["exact"] == 0.5
    assert row.measured["largest_error"] == found["largest_error"]
    assert row.baseline["largest_error"] == found["error_of_one_half"]


def test_many_pictures_are_told_beside_their_components():
    case = GradientCase(MNIST, 40)
    found = many_figures(case, 3)
    assert found["called_recovered"] == found["exact"] == found["rows_exact"] == 1.0
    assert found["psnr_of_grey"] < found["psnr_of_components"] < 60
    row = many_row(case, [found, {**found, "components_above_20_db": 0.0}])
    assert row.measured["components_above_20_db"] == found["components_above_20_db"] / 2
    assert row.baseline["psnr_of_components"] == found["psnr_of_grey"]
