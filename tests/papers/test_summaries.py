"""Means and bands over seeds: what each kind says of the same runs, and of too few of them."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.papers.summaries import error_of_mean, mean, mean_max, means, min_max, standard_error, student_95

RUNS = [1.0, 2.0, 6.0]  # mean 3, standard deviation sqrt(7)


def test_kinds_of_bands_differ_in_width_only():
    error = np.sqrt(7 / 3)
    assert error_of_mean(np.array(RUNS)) == pytest.approx(error)
    expected = {
        "standard error": (3 - error, 3 + error),
        "student": (3 - 4.302653 * error, 3 + 4.302653 * error),  # 97.5 % of Student's t with 2 degrees of freedom
        "extremes": (1.0, 6.0),
    }
    found = {
        "standard error": standard_error("x", np.array(RUNS)),
        "student": student_95("x", RUNS),
        "extremes": min_max("x", RUNS),
    }
    for kind, (low, high) in expected.items():
        assert list(found[kind]) == ["x", "x_low", "x_high"]
        assert list(found[kind].values()) == pytest.approx([3.0, low, high]), kind


def test_one_run_has_no_interval():
    assert standard_error("x", np.array([2.0])) == {"x": 2.0, "x_low": 2.0, "x_high": 2.0}
    assert student_95("x", [2.0]) == {"x": 2.0, "x_low": None, "x_high": None}


def test_runs_without_a_figure_count_neither_way():
    assert mean([None, 1.0, 3.0]) == 2.0
    assert min_max("x", [None, 1.0, 3.0]) == {"x": 2.0, "x_low": 1.0, "x_high": 3.0}
    assert mean_max("x", [None, 1.0, 3.0]) == {"x": 2.0, "x_high": 3.0}
    assert mean([None]) is None
    assert min_max("x", []) == student_95("x", []) == {"x": None, "x_low": None, "x_high": None}
    assert mean_max("x", [None]) == {"x": None, "x_high": None}


def test_means_of_every_figure():
    assert means([{"a": 1.0, "b": 0.0}, {"a": 2.0, "b": 1.0}]) == {"a": 1.5, "b": 0.5}
