"""Chances, intervals and signals of a few rows, each by hand or by another way than the code's."""

from __future__ import annotations

from math import atan, pi
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from fedleak.core.adversary import Secret, SecretKind, Symmetry
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.column_results import correlation
from fedleak.metrics.interval_score import interval_scores
from fedleak.metrics.learnt_means import _within
from fedleak.metrics.metric import unless_alike
from fedleak.metrics.near_cells import _best_constants, symmetry_choices
from fedleak.metrics.rank_interval import Ranking, _measured_variance, _variance
from fedleak.metrics.row_orders import Measured
from fedleak.metrics.row_signal import MAX_UNITS, _means, _Rounds, hits, shares, standardised
from fedleak.metrics.tails import MANY, fewest_shuffles, mean_tail, tail


def test_two_draws_tell_by_students_law_of_one_degree():
    deviations = (5.0 - 0.5) / 0.5**0.5
    assert tail(5.0, np.array([0.0, 1.0])) == pytest.approx(0.5 - atan(deviations / 1.5**0.5) / pi)
    assert tail(5.0, np.array([0.0])) == 0.5


def test_what_no_draw_reaches_is_rarer_than_one_of_them():
    drawn = np.linspace(-1.0, 1.0, MANY)
    assert tail(1.001, drawn) == 1 / (1 + MANY)  # the fitted law says one in 24
    assert tail(1.001, drawn, least=0.1) == 0.1


def test_groups_of_equal_rows_are_dealt_out_in_so_many_ways():
    assert fewest_shuffles(np.array([2, 1])) == pytest.approx(1 / 3)
    assert fewest_shuffles(np.array([1, 1, 1, 1])) == pytest.approx(1 / 24)


def test_the_tail_of_a_mean_is_students():
    differences = np.array([1.0, 2.0, 4.0, -0.5, 0.25])
    assert mean_tail(differences) == pytest.approx(ttest_1samp(differences, 0.0, alternative="greater").pvalue)
    assert [mean_tail(np.full(3, value)) for value in (1.0, 0.0, -1.0)] == [0.0, 1.0, 1.0]


def test_the_variance_of_an_area_is_that_of_pairs_won_by_each_row():
    """DeLong et al. 1988, with ties."""
    scores = np.array([3, 2, 2, 1, 2, 1, 1, 0, 0])
    positive = np.array([1, 1, 0, 1, 1, 0, 0, 1, 0], dtype=bool)
    won = np.sign(scores[positive][:, None] - scores[~positive]) / 2 + 0.5
    expected = won.mean(axis=1).var(ddof=1) / 5 + won.mean(axis=0).var(ddof=1) / 4
    assert _measured_variance(Ranking.of(scores, positive)) == pytest.approx(expected)


@pytest.mark.parametrize(("first", "second"), [(5, 9), (9, 5)])
def test_the_variance_of_a_true_area_is_the_larger_of_two(first, second):
    """Hanley and McNeil 1982: Q1 = A / (2 - A), Q2 = 2 A² / (1 + A)."""
    area = 0.7
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    ways = [
        (area * (1 - area) + (m - 1) * (q1 - area**2) + (n - 1) * (q2 - area**2)) / (first * second)
        for m, n in ((first, second), (second, first))
    ]
    assert _variance(area, first, second) == pytest.approx(max(ways))


def test_a_measure_without_a_gain_over_blind_answers_may_be_luck():
    drawn, column = np.zeros((3, 1)) + np.array([[0.0], [0.1], [0.2]]), np.array([0.9])
    for gain, needs_gain, certain in ((0.0, True, True), (0.1, True, False), (0.0, False, False)):
        found = Measured("hits", column, drawn, np.array([gain]), np.zeros(1), 0.0, np.zeros(1), needs_gain)
        assert (found.chance(0) == 1.0) is certain
        assert (found.chance_together() == 1.0) is certain


def test_means_of_groups_are_over_what_was_told():
    found = _means(np.array([1.0, np.nan, 4.0]), np.array([0, 0, 2]))
    assert np.array_equal(found, [1.0, np.nan, 4.0], equal_nan=True)


def test_what_a_person_has_in_all_rounds_is_left_of_residuals():
    ids = np.array([[0, 7], [0, 8], [1, 7], [1, 8]])
    assert _Rounds.of(ids).units(np.array([[1.0], [3.0], [2.0], [8.0]])).ravel().tolist() == [-2.0, 2.0]


def test_of_many_persons_every_second_is_a_unit():
    ids = np.column_stack([np.zeros(2 * MAX_UNITS), np.arange(2 * MAX_UNITS)]).astype(np.int64)
    cells = np.arange(4.0 * MAX_UNITS).reshape(-1, 2)
    units = _Rounds.of(ids).units(cells)
    np.testing.assert_array_equal(units, (cells - cells.mean(axis=0))[::2])


def answered(values: np.ndarray, *up_to: Symmetry) -> SimpleNamespace:
    guess = SimpleNamespace(secret=Secret(SecretKind.FEATURES, "shop"))
    truth = SecretValues.spanning(np.arange(len(values)), ("a", "b", "c"), values)
    return SimpleNamespace(truth=truth, guess=guess, up_to=frozenset(up_to), blinds=())


@pytest.mark.parametrize(
    ("up_to", "choices"),
    [
        ((), 1),
        ((Symmetry.GLOBAL_SIGN,), 2),
        ((Symmetry.COLUMN_ORDER,), 3),
        ((Symmetry.ROW_ORDER,), 3 * 2),
        (tuple(Symmetry), 2 * 3 * 3 * 2),
    ],
)
def test_an_answer_was_chosen_among_so_many(up_to, choices):
    assert symmetry_choices(answered(np.eye(3), *up_to)) == choices


def test_a_columns_mean_is_a_constant_where_there_are_several_rows():
    table = np.array([[1.0, 2.0, 5.0], [3.0, 4.0, 0.0]])

    def has_means(rows: np.ndarray) -> bool:
        return any(np.array_equal(found, rows.mean(axis=0)[None]) for found in _best_constants(answered(rows)))

    assert has_means(table)
    assert not has_means(table[:1])


def test_an_interval_is_scored_in_ranges_of_its_column():
    truth = SecretValues.spanning(np.arange(2), ("a", "b"), np.array([[10.0, 3.0], [20.0, 3.0]]))
    low, high = np.array([[10.0, 3.0], [12.0, 3.0]]), np.array([[15.0, 3.0], [20.0, 3.0]])
    np.testing.assert_allclose(interval_scores(low, high, truth), [[0.5, 0.0], [0.8, 0.0]])


def test_a_correlation_needs_two_columns_that_vary():
    true = np.array([0.0, 1.0, 2.0, 3.0])
    assert correlation(np.array([0.0, 0.2, 0.7, 1.0]), true) == pytest.approx(
        np.corrcoef([0.0, 0.2, 0.7, 1.0], true)[0, 1]
    )
    assert correlation(np.full(4, 0.3), true) is None
    assert correlation(true, np.full(4, 0.3)) is None


def test_what_is_right_to_the_last_bit_is_a_hit_without_a_margin():
    cells = np.array([[0.0], [1.0], [2.0 + 1e-9]])
    found = hits(cells, np.array([[0.0], [1.0], [2.0]]), np.zeros(1), np.ones((3, 1), dtype=bool))
    assert found.ravel().tolist() == [True, True, False]


def test_shares_are_of_the_cells_that_count():
    counted = np.array([[True, True, False], [False, True, False]])
    assert shares(np.ones((2, 3)), counted).tolist() == [1.0, 1.0, 0.0]
    many = shares(np.ones((4, 2, 3)), counted)
    assert many.tolist() == [[1.0, 1.0, 0.0]] * 4


def test_many_tables_are_standardised_as_each_is_by_itself():
    rng = np.random.default_rng(0)
    tables, true = rng.normal(3.0, 1.0, (5, 7, 2)), rng.normal(size=(7, 2))
    tables[:, 0, 1] = np.nan
    counted = rng.random((7, 2)) < 0.8
    together = standardised(tables, true, counted)
    for number, table in enumerate(tables):
        for many, one in zip(together, standardised(table, true, counted), strict=True):
            np.testing.assert_allclose(many[number], one, atol=1e-14)


def test_the_share_of_a_normal_law_within_so_many_deviations():
    assert [_within(far) for far in (0.0, 1.0, 1.959964)] == pytest.approx([0.0, 0.682689, 0.95], abs=1e-6)


def test_an_interval_of_rows_that_differ_is_kept_and_one_of_equal_rows_is_the_shares_own():
    assert unless_alike((0.2, 0.4), 3.0, 10) == (0.2, 0.4)
    low, high = unless_alike((1.0, 1.0), 10.0, 10)
    assert low == pytest.approx(0.025**0.1)
    assert high == 1.0
