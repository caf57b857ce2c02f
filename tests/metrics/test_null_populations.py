"""What luck is measured against: shuffled labels, and populations that go together as a table does."""

from __future__ import annotations

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import gammaincc, ndtr

from fedleak.core.adversary import Symmetry
from fedleak.core.finding import Better, Score
from fedleak.metrics import null_tables, picture_luck
from fedleak.metrics.exact_shares import _moments
from fedleak.metrics.null_tables import Population, _latent_correlation, _root
from fedleak.metrics.picture_luck import _as_near_mixed, _chances, _coefficients, _of_best, _together
from fedleak.metrics.row_tests import chance_of_score


def test_mean_and_deviation_of_a_weighted_sum_are_those_over_all_shuffles():
    labels, groups = np.array([0, 0, 1, 1, 1, 0]), np.array([0, 1, 1, 2, 2, 2])
    weights = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.75]])
    table = np.array([[np.sum((labels == label) & (groups == group)) for group in range(3)] for label in range(2)])
    sums = [weights[list(order), groups].sum() for order in permutations(labels)]
    mean, deviation = _moments(table, weights)
    assert mean == pytest.approx(np.mean(sums))
    assert deviation == pytest.approx(np.std(sums))


def columns_that_go_together(n_rows: int) -> np.ndarray:
    rng = np.random.default_rng(21)
    first = rng.standard_normal(n_rows)
    return np.column_stack([np.exp(first), first + rng.standard_normal(n_rows), rng.standard_normal(n_rows)])


def test_a_population_has_the_tables_values_and_goes_together_as_the_table():
    table = columns_that_go_together(300)
    drawn = Population(table).draw(np.random.default_rng(22))
    assert np.array_equal(np.sort(drawn, axis=0), np.sort(table, axis=0))
    own, other = (np.corrcoef(np.argsort(np.argsort(one, axis=0), axis=0).T) for one in (table, drawn))
    assert other == pytest.approx(own, abs=0.15)
    assert not np.array_equal(drawn, table)


def test_a_column_goes_wholly_with_itself_also_where_it_is_constant():
    table = np.column_stack([columns_that_go_together(40), np.ones(40)])
    assert np.diag(_latent_correlation(table)).tolist() == [1.0] * 4
    assert _latent_correlation(table)[3, :3].tolist() == [0.0] * 3


def test_factors_of_a_wide_table_are_its_rows_and_of_a_narrow_one_its_columns(monkeypatch):
    table = columns_that_go_together(40)
    assert _root(table).shape == (3, 3)
    assert _root(table) @ _root(table).T == pytest.approx(_latent_correlation(table), abs=1e-9)
    monkeypatch.setattr(null_tables, "MAX_COLUMNS", 2)
    assert _root(table).shape == (3, 40)
    monkeypatch.setattr(null_tables, "MAX_COLUMNS", 3)
    assert _root(table).shape == (3, 3)


@pytest.mark.parametrize("better", list(Better))
def test_an_interval_alone_is_taken_for_that_of_a_normal_figure(better):
    sign = 1 if better is Better.HIGHER else -1
    score = Score("x", 0.5 + sign * 0.1, 0.5, better, (0.0, 1.0), 9, gain_ci=(0.1 - 0.098, 0.1 + 0.098))
    assert chance_of_score(score) == pytest.approx(ndtr(-2.0), rel=1e-4)


def test_an_interval_without_width_is_certain_either_way():
    above, below = (Score("x", value, 0.5, Better.HIGHER, (value, value), 9) for value in (0.7, 0.3))
    assert [chance_of_score(one) for one in (above, below)] == [0.0, 1.0]


def told(true: np.ndarray, *up_to: Symmetry) -> SimpleNamespace:
    """What ``_of_best`` asks of an answer."""
    return SimpleNamespace(
        up_to=frozenset(up_to), unknown=np.ones(true.shape, dtype=bool), truth=SimpleNamespace(values=true)
    )


@pytest.mark.parametrize(("up_to", "factor"), [((), 3), ((Symmetry.ROW_ORDER,), 9)])
def test_the_best_of_pictures_counts_all_that_were_told_and_all_they_may_match(up_to, factor, monkeypatch):
    monkeypatch.setattr(picture_luck, "_as_near_mixed", lambda *_: np.zeros(15))
    true, off = np.random.default_rng(23).random((3, 8, 8)), np.ones((3, 15))
    guess = true.copy()
    guess[0] += 1e-3 * np.random.default_rng(24).standard_normal((8, 8))
    guess[1:] += 50 * np.random.default_rng(25).standard_normal((2, 8, 8))
    missed = np.abs(_coefficients(guess[:1] - true[:1]))
    alone = float(gammaincc(15, -np.log(np.arctanh(missed)).sum()))
    assert _together(_chances(_coefficients(guess), _coefficients(true), off))[0] == pytest.approx(alone)
    found = _of_best(guess, off, told(true, *up_to), np.random.default_rng(0))
    assert found == pytest.approx(factor * alone)


def test_no_coefficient_is_nearer_than_the_same_pixels_in_other_places_come():
    """Of two pixels that differ, half of all places are the right ones."""
    picture, rng = np.array([[0.0, 1.0]]), np.random.default_rng(26)
    coefficient = _coefficients(picture[None])[0]
    assert _as_near_mixed(picture, coefficient, rng) == pytest.approx(0.5, abs=0.1)
    assert _as_near_mixed(picture, coefficient + 9.0, rng) == pytest.approx(1.0)


def test_pictures_that_were_not_told_are_no_luck():
    true = np.random.default_rng(23).random((3, 8, 8))
    assert _of_best(np.full(true.shape, np.nan), np.ones((3, 15)), told(true), np.random.default_rng(0)) == 1.0
