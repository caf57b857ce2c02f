"""Means and bands over seeds: what each kind says of the same runs, and of too few of them."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.papers.experiment import Band, Row
from fedleak.papers.summaries import (
    Summary,
    error_of_mean,
    mean,
    mean_max,
    means,
    min_max,
    standard_error,
    student_95,
)

RUNS = [1.0, 2.0, 6.0]  # mean 3, standard deviation sqrt(7)


def test_kinds_of_bands_differ_in_width_only():
    error = np.sqrt(7 / 3)
    assert error_of_mean(np.array(RUNS)) == pytest.approx(error)
    expected = {
        Band.STANDARD_ERROR: (3 - error, 3 + error),
        Band.STUDENT_95: (3 - 4.302653 * error, 3 + 4.302653 * error),  # 97.5 % of Student's t, 2 degrees of freedom
        Band.MIN_MAX: (1.0, 6.0),
    }
    for found in (standard_error("x", np.array(RUNS)), student_95("x", RUNS), min_max("x", RUNS)):
        low, high = expected.pop(found.bands["x"])
        assert list(found.figures) == ["x", "x_low", "x_high"]
        assert list(found.figures.values()) == pytest.approx([3.0, low, high])
    assert not expected


def test_one_run_has_no_interval():
    assert standard_error("x", np.array([2.0])).figures == {"x": 2.0, "x_low": 2.0, "x_high": 2.0}
    assert student_95("x", [2.0]).figures == {"x": 2.0, "x_low": None, "x_high": None}


def test_runs_without_a_figure_count_neither_way():
    assert mean([None, 1.0, 3.0]) == 2.0
    assert min_max("x", [None, 1.0, 3.0]).figures == {"x": 2.0, "x_low": 1.0, "x_high": 3.0}
    assert mean_max("x", [None, 1.0, 3.0]) == Summary({"x": 2.0, "x_high": 3.0}, {"x": Band.MAX})
    assert mean([None]) is None
    assert min_max("x", []).figures == student_95("x", []).figures == {"x": None, "x_low": None, "x_high": None}
    assert mean_max("x", [None]).figures == {"x": None, "x_high": None}


def test_joining_keeps_the_kinds_and_the_order():
    worst, extremes = mean_max("worst", RUNS), min_max("x", RUNS)
    joined = {"n": 3.0} | worst | extremes | {"x": 2.0}
    assert list(joined.figures) == ["n", "worst", "worst_high", "x", "x_low", "x_high"]
    assert joined.figures["x"] == 2.0  # a later figure replaces an earlier one, and its band stays
    assert joined.bands == {"worst": Band.MAX, "x": Band.MIN_MAX}
    assert Summary({}) | extremes == extremes


@pytest.mark.parametrize(
    ("measured", "bands"),
    [
        (min_max("x", RUNS).figures, {}),
        (mean_max("x", RUNS).figures, {}),
        (min_max("x", RUNS).figures, {"y": Band.MIN_MAX}),
        ({"x": 1.0}, {"x": Band.MIN_MAX}),
    ],
)
def test_a_row_says_the_kind_of_every_band_and_of_nothing_else(measured, bands):
    with pytest.raises(ValueError, match="bands must be those of"):
        Row({}, measured, bands=bands)


def test_means_of_every_figure():
    assert means([{"a": 1.0, "b": 0.0}, {"a": 2.0, "b": 1.0}]) == {"a": 1.5, "b": 0.5}
