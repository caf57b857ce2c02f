"""Columns with missing cells, few values, or rows that a tree does not count: what is said of them is true."""

from __future__ import annotations

import numpy as np
import pytest

from boosted_runs import boosted, with_features, with_labels
from fedleak.attacks.boosting.histogram_decoding import HistogramDecoding
from fedleak.attacks.boosting.reverse_sum import ReverseSum as ReadMarks
from fedleak.attacks.boosting.routing_intervals import RoutingIntervals
from fedleak.attacks.boosting.threshold_search import ThresholdSearch
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.whole.randomness import Randomness
from fedleak.defenses.guarded_trees import NoisyThresholds
from fedleak.deviations.marked_rows import ReverseSum
from fedleak.trial.play import play

TWO = {"bank": 2, "fintech": 3}
BINS = Secret(SecretKind.BINS, "fintech")
MARKED = {"deviation": ReverseSum(key_bits=1024), "deviating": "bank"}


def attacked(federation, attack, target, seed, **played):
    done = play(federation, Randomness.published(seed), **played)
    guess = attack.run(done.view(("bank",), target, ranges(federation)), rng=np.random.default_rng(seed))
    return guess, done.run.truth.of(target)


def ranges(federation):
    victim = federation.parties[1]
    ends = zip(
        victim.columns, np.nanmin(victim.train.features, axis=0), np.nanmax(victim.train.features, axis=0), strict=True
    )
    return Knowledge(columns=tuple(KnownColumn("fintech", name, low=low, high=high) for name, low, high in ends))


def n_told_and_wrong(guess, truth):
    told = np.isfinite(guess.values)
    return int(told.sum()), int((guess.values[told] != truth.values[told]).sum())


def first_column(federation, change, seed):
    """The partner's first column as ``change`` makes it."""
    features = federation.parties[1].train.features.copy()
    features[:, 0] = change(features[:, 0], np.random.default_rng(seed))
    return with_features(federation, "fintech", features)


def holes(column, rng):
    return np.where(rng.random(len(column)) < 0.3, np.nan, column)


def two_values_with_holes(column, rng):
    return holes((column > 0).astype(float), rng)


def one_value_with_holes(column, rng):
    return holes(np.ones_like(column), rng)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("column", [two_values_with_holes, one_value_with_holes])
@pytest.mark.parametrize(
    ("attack", "played"), [(HistogramDecoding(), {}), (ReadMarks(), MARKED)], ids=["sums", "marks"]
)
def test_missing_cells_of_a_column_with_few_values_are_not_taken_for_a_bin(attack, played, column, seed):
    """Rows above the only cut and rows without a value could change places: what is not at most the cut is not said."""
    numbers = np.random.default_rng(seed).standard_normal(60)
    federation = first_column(with_labels(boosted(TWO, n_trees=4, seed=seed), numbers), column, seed)
    guess, truth = attacked(federation, attack, BINS, seed, **played)
    told, wrong = n_told_and_wrong(guess, truth)
    assert wrong == 0
    assert told == 120 + int((truth.values[:, 0] == 0).sum())
    assert guess.status is Status.PARTIAL


def test_bins_whose_sums_look_like_missing_cells_are_not_taken_for_those():
    """One tree of two classes has sums that are counts, and counts of a column with four values often pair up."""
    told = 0
    for seed in range(40):
        few = first_column(
            boosted(TWO, n_trees=1, depth=4, seed=seed, n_rows=40), lambda c, rng: rng.integers(4, size=len(c)), seed
        )
        n_told, wrong = n_told_and_wrong(*attacked(few, HistogramDecoding(), BINS, seed))
        assert wrong == 0, seed
        told += n_told
    assert told > 300


@pytest.mark.parametrize("seed", range(4))
def test_columns_with_missing_cells_and_moved_thresholds_are_read_as_they_are(seed):
    numbers = np.random.default_rng(seed).standard_normal(60)
    federation = first_column(with_labels(boosted(TWO, n_trees=4, seed=seed), numbers), holes, seed)
    told, wrong = n_told_and_wrong(*attacked(federation, HistogramDecoding(), BINS, seed, defense=NoisyThresholds()))
    assert wrong == 0
    assert told > 100


@pytest.mark.parametrize("seed", [7, 8, 10])
def test_a_split_that_sets_missing_cells_apart_is_not_bracketed_by_its_ancestor(seed):
    """Below a left turn such a split may lie above the ancestor's threshold: no record with a value shows where."""
    rng = np.random.default_rng(seed)
    federation = boosted(TWO, n_trees=4, depth=4, seed=seed, n_rows=80, enrolled_records=True)
    often = np.where(federation.parties[0].train.labels[:, None] == 1, 0.4, 0.1)
    features = federation.parties[1].train.features
    holed = with_features(federation, "fintech", np.where(rng.random(features.shape) < often, np.nan, features))
    guess, truth = attacked(holed, ThresholdSearch(), Secret(SecretKind.THRESHOLDS, "fintech"), seed)
    true = dict(zip(map(tuple, truth.ids.tolist()), truth.values[:, 0], strict=True))
    told = np.isfinite(guess.intervals[:, 0]).all(axis=1)
    assert told.sum() > 10
    for node, (low, high) in zip(guess.ids[told].tolist(), guess.intervals[told, 0], strict=True):
        assert low <= true[tuple(node)] <= high
    assert guess.status is Status.PARTIAL


@pytest.mark.parametrize("seed", range(5))
def test_cuts_between_which_a_tree_counts_no_row_bound_no_cell(seed):
    federation = boosted(TWO, n_trees=8, seed=seed, bins=32, row_share=0.5, enrolled_records=True)
    guess, truth = attacked(federation, RoutingIntervals(), Secret(SecretKind.RANGES, "fintech"), seed)
    assert (guess.intervals[..., 0] <= truth.values + 1e-12).all()
    assert (guess.intervals[..., 1] >= truth.values - 1e-12).all()
    assert guess.evidence["mean width"] < guess.evidence["mean width by routing alone"]
