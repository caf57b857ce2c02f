"""Attacks on boosted trees on runs of the protocol: what they say is true, and where they cannot say they do not."""

from __future__ import annotations

import numpy as np
import pytest

from boosted_runs import boosted, model_of, with_features, with_labels
from fedleak.attacks.boosting.histogram_decoding import HistogramDecoding
from fedleak.attacks.boosting.member_clustering import MemberClustering
from fedleak.attacks.boosting.reverse_sum import ReverseSum as ReadMarks
from fedleak.attacks.boosting.routing_intervals import RoutingIntervals
from fedleak.attacks.boosting.threshold_search import PrintedThresholdSearch, ThresholdSearch
from fedleak.attacks.row_clusters import k_means
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status
from fedleak.core.knowledge import Knowledge, KnownColumn
from fedleak.core.whole.randomness import Randomness
from fedleak.defenses.guarded_trees import FirstTreeAlone, NoisyLabels, NoisyThresholds, PurityLimit
from fedleak.deviations.marked_rows import ReverseSum
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.trial.play import play

TWO = {"bank": 2, "fintech": 3}


def numbers_as_labels(federation):
    rows = len(federation.parties[0].train.ids)
    return with_labels(federation, np.random.default_rng(5).standard_normal(rows))


def with_missing(federation, share=0.2):
    features = federation.parties[1].train.features.copy()
    features[np.random.default_rng(3).random(len(features)) < share, 0] = np.nan
    return with_features(federation, "fintech", features)


def attacked(federation, attack, kind, *, coalition=("bank",), owner="fintech", knowledge=None, **played):
    done = play(federation, Randomness.published(0), **played)
    target = Secret(kind, owner)
    guess = attack.run(done.view(coalition, target, knowledge or Knowledge()), rng=np.random.default_rng(0))
    return guess, done.run.truth.of(target), done


def assert_true(guess, truth):
    told = np.isfinite(guess.values)
    assert told.any()
    assert (guess.values[told] == truth.values[told]).all()


@pytest.mark.parametrize("objective", ["numbers", "classes"])
@pytest.mark.parametrize("packed", [True, False])
def test_decoded_bins_are_true(objective, packed):
    federation = boosted(TWO, n_trees=4, packed=packed)
    federation = numbers_as_labels(federation) if objective == "numbers" else federation
    guess, truth, _ = attacked(federation, HistogramDecoding(), SecretKind.BINS)
    assert_true(guess, truth)
    if objective == "numbers":
        assert guess.status is Status.RECOVERED


def test_rows_that_cannot_be_told_apart_are_reported_and_not_guessed():
    """One tree of two classes: rows of one class in one node are alike."""
    guess, truth, _ = attacked(boosted(TWO, n_trees=1, depth=2), HistogramDecoding(), SecretKind.BINS)
    told = np.isfinite(guess.values)
    assert not told.all()
    assert (guess.values[told] == truth.values[told]).all()
    assert guess.evidence["cells that the sums cannot place"] > 0.3


def test_missing_cells_are_placed_as_missing():
    federation = with_missing(numbers_as_labels(boosted(TWO, n_trees=4)))
    guess, truth, _ = attacked(federation, HistogramDecoding(), SecretKind.BINS)
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values, truth.values)
    assert (truth.values == -1).sum() > 5


def test_hidden_columns_leave_the_sums_undetermined():
    federation = numbers_as_labels(boosted(TWO, reveal_feature=False))
    guess, _, _ = attacked(federation, HistogramDecoding(), SecretKind.BINS)
    assert guess.status is Status.UNDETERMINED
    assert np.isnan(guess.values).all()


@pytest.mark.parametrize("missing", [False, True])
def test_marks_name_every_bin_and_leave_the_model_as_it_was(missing):
    federation = boosted(TWO, n_trees=1)
    federation = with_missing(federation) if missing else federation
    guess, truth, done = attacked(
        federation, ReadMarks(), SecretKind.BINS, deviation=ReverseSum(key_bits=1024), deviating="bank"
    )
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values, truth.values)
    honest = play(federation, Randomness.published(0))
    assert np.array_equal(model_of(done.run).weight, model_of(honest.run).weight)
    assert np.array_equal(model_of(done.run).threshold, model_of(honest.run).threshold, equal_nan=True)


def test_rows_beyond_a_plaintext_are_marked_in_the_next_tree():
    federation = boosted(TWO, n_trees=2, n_rows=1200)
    one = federation.with_settings(n_trees=1)
    marked = {"deviation": ReverseSum(key_bits=1024), "deviating": "bank"}
    partly, truth, _ = attacked(one, ReadMarks(), SecretKind.BINS, **marked)
    told = np.isfinite(partly.values).all(axis=1)
    assert 750 < told.sum() < 896  # 896 bits less the sums
    assert np.array_equal(partly.values[told], truth.values[told])
    whole, truth, _ = attacked(federation, ReadMarks(), SecretKind.BINS, **marked)
    assert np.array_equal(whole.values, truth.values)


def ranges(federation):
    victim = federation.parties[1]
    ends = zip(victim.columns, victim.train.features.min(axis=0), victim.train.features.max(axis=0), strict=True)
    return Knowledge(columns=tuple(KnownColumn("fintech", name, low=low, high=high) for name, low, high in ends))


@pytest.mark.parametrize("hidden", [False, True])
def test_split_points_are_within_their_brackets(hidden):
    federation = boosted(TWO, enrolled_records=True, reveal_feature=not hidden)
    known = ranges(federation)
    guess, truth, _ = attacked(federation, ThresholdSearch(), SecretKind.THRESHOLDS, knowledge=known)
    assert guess.status is Status.RECOVERED
    assert {tuple(one) for one in guess.ids.tolist()} == {tuple(one) for one in truth.ids.tolist()}
    true = dict(zip(map(tuple, truth.ids.tolist()), truth.values[:, 0], strict=True))
    for name, (low, high) in zip(map(tuple, guess.ids.tolist()), guess.intervals[:, 0], strict=True):
        assert low <= true[name] < high


def test_scores_of_few_trees_name_their_leaves():
    federation = boosted(TWO, enrolled_records=True, prediction="scores", n_trees=4)
    known = ranges(federation)
    guess, truth, _ = attacked(federation, ThresholdSearch(), SecretKind.THRESHOLDS, knowledge=known)
    printed, _, _ = attacked(federation, PrintedThresholdSearch(), SecretKind.THRESHOLDS, knowledge=known)
    assert guess.status is printed.status is Status.RECOVERED
    assert guess.evidence["coverage"] == 1
    assert_in_brackets(guess, truth)


def assert_in_brackets(guess, truth):
    true = dict(zip(map(tuple, truth.ids.tolist()), truth.values[:, 0], strict=True))
    for name, (low, high) in zip(map(tuple, guess.ids.tolist()), guess.intervals[:, 0], strict=True):
        assert low <= true[name] < high


@pytest.mark.parametrize("hidden", [False, True])
def test_jumps_of_scores_of_many_trees_name_split_points(hidden):
    """Thirty trees have too many combinations of leaves; a jump is the difference of two leaves all the same."""
    federation = boosted(
        TWO, enrolled_records=True, prediction="scores", n_trees=30, n_rows=200, bins=32, reveal_feature=not hidden
    )
    known = ranges(federation)
    guess, truth, _ = attacked(federation, ThresholdSearch(), SecretKind.THRESHOLDS, knowledge=known)
    assert guess.status is Status.PARTIAL
    assert guess.certificate == ""
    named = np.isfinite(guess.values[:, 0])
    assert named.mean() == guess.evidence["named by jumps"] > 0.4
    true = dict(zip(map(tuple, truth.ids.tolist()), truth.values[:, 0], strict=True))
    span = max(np.ptp(column) for column in federation.parties[1].train.features.T)
    for name, (low, high) in zip(map(tuple, guess.ids[named].tolist()), guess.intervals[named, 0], strict=True):
        assert low <= true[name] < high
        assert high - low <= 1.001e-4 * span
    printed, _, _ = attacked(federation, PrintedThresholdSearch(), SecretKind.THRESHOLDS, knowledge=known)
    assert not printed.certificate


def test_the_printed_search_asks_more_often_for_the_same():
    federation = boosted(TWO, enrolled_records=True)
    known = ranges(federation)
    ours, _, _ = attacked(federation, ThresholdSearch(), SecretKind.THRESHOLDS, knowledge=known)
    printed, _, _ = attacked(federation, PrintedThresholdSearch(), SecretKind.THRESHOLDS, knowledge=known)
    assert printed.status is ours.status is Status.RECOVERED
    assert ours.evidence["batches"] < printed.evidence["batches"]


def test_a_budget_of_records_is_kept_and_told():
    federation = boosted(TWO, enrolled_records=True, record_budget=60)
    guess, _, _ = attacked(
        federation, ThresholdSearch(epsilon=1e-9), SecretKind.THRESHOLDS, knowledge=ranges(federation)
    )
    assert guess.status is Status.PARTIAL
    assert guess.evidence["budget spent"]
    assert guess.evidence["records"] <= 60
    assert "budget" in guess.why


@pytest.mark.parametrize(("epsilon", "coverage"), [(0.3, 0.5), (0.01, 0.0), (0.02, 1.0)])
def test_a_bracket_that_is_still_wide_is_not_proved(epsilon, coverage):
    """Its middle is told, which the service never answered for."""
    federation = boosted(TWO, enrolled_records=True, record_budget=12)
    attack = ThresholdSearch(epsilon=epsilon)
    guess, _, _ = attacked(federation, attack, SecretKind.THRESHOLDS, knowledge=ranges(federation))
    assert np.isfinite(guess.values).all()
    assert guess.evidence["coverage"] == coverage
    assert bool(guess.certificate) == (coverage == 1.0)


@pytest.mark.parametrize("defense", [None, NoisyThresholds(sigma=0.1)])
def test_intervals_hold_every_cell_and_bins_narrow_them(defense):
    federation = numbers_as_labels(boosted(TWO, enrolled_records=True, n_trees=4))
    guess, truth, _ = attacked(
        federation, RoutingIntervals(), SecretKind.RANGES, knowledge=ranges(federation), defense=defense
    )
    assert (guess.intervals[..., 0] <= truth.values + 1e-9).all()
    assert (guess.intervals[..., 1] >= truth.values - 1e-9).all()
    assert guess.evidence["mean width"] < guess.evidence["mean width by routing alone"] < 1


def clustered(**played):
    federation = boosted({"bank": 4, "fintech": 2}, n_rows=200, n_trees=12)
    guess, truth, done = attacked(
        federation, MemberClustering(), SecretKind.LABELS, coalition=("fintech",), owner="bank", **played
    )
    agreement = float((guess.values == truth.values).mean())
    return max(agreement, 1 - agreement), guess, truth, done


def test_members_of_nodes_are_clustered_by_label():
    right, guess, _, _ = clustered()
    assert right > 0.9
    assert ((guess.confidence >= 0.5) & (guess.confidence <= 1)).all()


def test_the_first_tree_alone_tells_a_partner_less():
    whole, alone = clustered()[1], clustered(defense=FirstTreeAlone())[1]
    assert alone.evidence["trees"] == whole.evidence["trees"] - 1


def test_randomised_labels_hide_the_labels_and_cost_accuracy():
    plain, noisy = clustered(), clustered(defense=NoisyLabels(epsilon=0.01))
    assert noisy[0] < 0.75 < 0.9 < plain[0]
    assert noisy[3].run.utility["train_accuracy"] > 0.75  # leaves are fitted to the true ones


def test_no_pure_node_is_split_under_a_limit():
    _, _, truth, done = clustered(defense=PurityLimit(share=0.8))
    labels = dict(zip(truth.ids.tolist(), truth.values[:, 0], strict=True))
    split = [m.payload.items for m in done.run.transcript.messages if m.step == boosting.ROUTING.name]
    assert split
    for items in split:
        for node in np.unique(items["nodes"].values):
            rows = items["rows"].values[items["nodes"].values == node]
            positive = np.mean([labels[int(row)] for row in rows])
            assert max(positive, 1 - positive) <= 0.8


def test_k_means_finds_clusters_that_lie_apart():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(centre, 0.1, size=(30, 2)) for centre in (0.0, 3.0, 6.0)])
    classes, _ = k_means(rows, 3, rng)
    assert [len(set(part.tolist())) for part in np.split(classes, 3)] == [1, 1, 1]
    assert len(set(classes.tolist())) == 3
