"""Columns' distributions from the training rows that trees counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import beta

from fedleak.models import TreeModel, TreeOutput
from fedleak.models.inversion.counted_columns import ColumnHistogram, counted_columns, pooled_histogram
from fedleak.models.joint_training import train_forest

UNCOUNTED = ColumnHistogram(np.array([0.0, 0.5, 1.0]), np.array([0.9, 0.1]))


def stump(threshold: float, n_left: int, n_right: int) -> TreeModel:
    return TreeModel(
        ("a", "b"),
        left=np.array([1, -1, -1]),
        right=np.array([2, -1, -1]),
        feature=np.array([0, -1, -1]),
        threshold=np.array([threshold, 0.0, 0.0]),
        fractions=np.eye(2)[[0, 0, 1]],
        counts=np.array([n_left + n_right, n_left, n_right]),
    )


def test_one_threshold_splits_the_rows_as_it_counted_them() -> None:
    split, whole = counted_columns([stump(0.25, 80, 20)], np.array([0, 1]), UNCOUNTED) or []
    assert abs(split.shares[split.edges[:-1] < 0.25].sum() - 0.8) < 0.01
    assert abs(split.mean - (0.8 * 0.125 + 0.2 * 0.625)) < 0.01
    assert whole is UNCOUNTED  # no tree asks for it


def test_thresholds_of_several_trees_make_one_distribution() -> None:
    stumps = [stump(cut, round(1000 * cut**0.5), 1000 - round(1000 * cut**0.5)) for cut in (0.04, 0.16, 0.36, 0.64)]
    (column,) = counted_columns(stumps, np.array([0]), UNCOUNTED) or []
    cumulative = np.concatenate([[0.0], np.cumsum(column.shares)])
    np.testing.assert_allclose(
        np.interp([0.04, 0.16, 0.36, 0.64], column.edges, cumulative), [0.2, 0.4, 0.6, 0.8], atol=0.03
    )


def test_a_forest_s_counts_tell_where_skewed_columns_lie() -> None:
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [beta(1, 5).rvs(2000, random_state=1), beta(6, 2).rvs(2000, random_state=2), rng.random(2000)]
    )
    labels = (rows @ [3.0, 2.0, 1.0] > 2.3).astype(int)
    forest = train_forest(rows, labels, "abc", n_trees=50, depth=4, output=TreeOutput.ONE_HOT, rng=rng)
    found = counted_columns(forest.trees, np.arange(3), UNCOUNTED) or []
    np.testing.assert_allclose([column.mean for column in found], rows.mean(axis=0), atol=0.07)
    uncounted = [replace(tree, counts=None) for tree in forest.trees]
    assert counted_columns(uncounted, np.arange(3), UNCOUNTED) is None


def test_a_rare_flag_looks_rare_though_nodes_without_it_cannot_split_it() -> None:
    """Of deep trees: the deeper the node, the rarer one where the flag differs."""
    rng = np.random.default_rng(3)
    rows = rng.random((1000, 3))
    rows[:, 0] = rows[:, 0] < 0.05
    labels = (rows[:, 1] + rows[:, 2] + 0.3 * rng.standard_normal(1000) > 1).astype(int)
    forest = train_forest(rows, labels, "abc", n_trees=10, depth=10, output=TreeOutput.ONE_HOT, rng=rng)
    (flag,) = counted_columns(forest.trees, np.array([0]), UNCOUNTED) or []
    assert abs(flag.below(np.array([0.5]))[0] - (1.0 - rows[:, 0].mean())) < 0.02


def test_pooled_values_of_all_columns_make_one_histogram() -> None:
    pooled = pooled_histogram(np.array([[0.0, 1.0], [0.0, 0.5], [0.0, 0.0]]))
    assert pooled.shares.argmax() == 0
    np.testing.assert_allclose(pooled.shares[[0, 1, 16, 31]] * (6 + 32), [5, 1, 2, 2])


def test_draws_have_the_histogram_s_mean_and_variance() -> None:
    column = ColumnHistogram(np.array([0.0, 0.1, 0.5, 1.0]), np.array([0.7, 0.1, 0.2]))
    drawn = column.draw(200_000, np.random.default_rng(0))
    np.testing.assert_allclose([drawn.mean(), drawn.var()], [column.mean, column.variance], rtol=0.02)
