"""The federated training is the centralised one, cell for cell, and shows every party what it would receive."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from boosted_runs import boosted, model_of, with_features, with_labels
from federations import run
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import InputError
from fedleak.core.payload import Array, CipherArray
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import Captured, Run
from fedleak.models.boosted_model import BoostedModel
from fedleak.models.boosting import booster
from fedleak.models.boosting.booster import CentralTraining, train_centrally
from fedleak.models.boosting.losses import objective_for
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.storage.capture_and_truth import load_capture, save_capture

THREE = {"bank": 3, "fintech": 4, "shop": 2}


def centrally(federation: Federation, seed: int = 1) -> BoostedModel:
    """With the draws that the parties of ``run`` make."""
    settings, parties = federation.settings, federation.parties
    labels = parties[0].train.labels
    objective = objective_for(settings.objective, labels)
    training = CentralTraining(
        objective,
        1 if objective == "squared" else int(labels.max()) + 1,
        settings.n_trees,
        settings.rule,
        bins=settings.bins,
        min_bin_rows=settings.min_bin_rows,
        by_column=settings.reveal_feature,
        first_tree_alone=settings.first_tree_alone,
        fraction_bits=settings.fraction_bits,
        sampling=settings.sampling,
        label_epsilon=settings.label_epsilon,
    )
    rngs = [Randomness.published(seed).secret(party.name, "protocol") for party in parties]
    columns = tuple(name for party in parties for name in party.columns)
    return train_centrally([party.train.features for party in parties], labels, columns, training, rngs)


def holed(federation: Federation) -> Federation:
    """A third of fintech's cells are missing, and one column of it entirely."""
    features = federation.party("fintech").train.features.copy()
    features[np.random.default_rng(9).random(features.shape) < 1 / 3] = np.nan
    features[:, 0] = np.nan
    return with_features(federation, "fintech", features)


def three_classes(federation: Federation) -> Federation:
    return with_labels(federation, np.random.default_rng(8).integers(0, 3, federation.n_rows))


def numbers(federation: Federation) -> Federation:
    return with_labels(federation, 50.0 * np.random.default_rng(7).standard_normal(federation.n_rows))


CASES = {
    "as it comes": boosted(THREE),
    "hidden features": boosted(THREE, reveal_feature=False),
    "apart": boosted(THREE, packed=False),
    "three classes": three_classes(boosted(THREE)),
    "regression": numbers(boosted(THREE)),
    "missing cells": holed(boosted(THREE)),
    "missing cells, hidden features": holed(boosted(THREE, reveal_feature=False)),
    "sampled rows and columns": boosted(THREE, row_share=0.7, column_share=0.5),
    "goss": boosted(THREE, goss=True),
    "goss of a regression": numbers(boosted(THREE, goss=True)),
    "randomised labels": boosted(THREE, label_epsilon=1.0),
    "randomised labels of three classes": three_classes(boosted(THREE, label_epsilon=2.0)),
    "first tree alone": boosted(THREE, first_tree_alone=True),
    "labels without columns": boosted({"bank": 0, "fintech": 5}),
    "coarse bins": boosted(THREE, bins=16, min_bin_rows=9),
    "large children": boosted(THREE, min_child_weight=3.0, min_gain=0.5, depth=5),
    "one constant column": with_features(boosted({"bank": 2, "shop": 1}), "shop", np.ones((60, 1))),
}


@pytest.mark.parametrize("federation", CASES.values(), ids=CASES)
def test_lossless(federation: Federation):
    """Same splits and same predictions as the same algorithm in plaintext, to the bit."""
    found, wanted = model_of(run(federation)), centrally(federation)
    for name, array in wanted.to_spec().arrays.items():
        assert np.array_equal(found.to_spec().arrays[name], array, equal_nan=array.dtype.kind == "f"), name
    assert found.to_spec().config == wanted.to_spec().config
    assert (wanted.left >= 0).sum() >= 3
    rows = np.hstack([party.train.features for party in federation.parties])
    assert np.array_equal(found.scores(rows), wanted.scores(rows))


@pytest.fixture(scope="module")
def result() -> Run:
    return run(boosted(THREE, n_test=7))


def messages(result: Run, step, sender: str | None = None) -> list:
    found = [message for message in result.transcript.messages if message.step == step.name]
    return [message for message in found if sender in (None, message.sender)]


def records(result: Run, party: str, name) -> list:
    return [record for record in result.locals[party] if record.name == name.name]


def opened(result: Run, party: str) -> list[tuple]:
    found = [record.value.items for record in records(result, "bank", boosting.SUMS_OF.of(party))]
    return [(item["level"].value, item["nodes"].values.tolist(), item["g"].values, item["h"].values) for item in found]


def test_both_ciphers_give_the_same_plaintexts(result):
    real = run(boosted(THREE, n_test=7, cipher="paillier"))
    assert messages(real, boosting.CANDIDATE_SUMS)[0].payload.items["sums"].scheme == "paillier"
    for party in ("fintech", "shop"):
        pairs = list(zip(opened(real, party), opened(result, party), strict=True))
        assert pairs
        for ours, ideal in pairs:
            assert ours[:2] == ideal[:2]
            assert np.array_equal(ours[2], ideal[2])
            assert np.array_equal(ours[3], ideal[3])
    shapes = [[m.payload.items["sums"].shape for m in messages(r, boosting.CANDIDATE_SUMS)] for r in (real, result)]
    assert shapes[0] == shapes[1]
    assert np.array_equal(model_of(real).weight, model_of(result).weight)


def test_a_partner_receives_ciphertexts_nodes_and_what_won(result):
    for party in ("fintech", "shop"):
        received = {m.step for m in result.transcript.messages if m.receiver in (party, "*") and m.sender != party}
        assert received <= {
            boosting.GRADIENT_KEY.name,
            boosting.TREE.name,
            boosting.ENCRYPTED_GRADIENTS.name,
            boosting.NODE_ROWS.name,
            boosting.CHOSEN_SPLIT.name,
            boosting.WANTED_ROWS.name,
            boosting.HOP_REQUEST.name,
        }
        kept = {record.name for record in result.locals[party]}
        assert kept == {"features", "bin-thresholds", "splits"}


def test_gradients_are_encrypted_once_a_tree(result):
    for number in range(3):
        sent = [m for m in messages(result, boosting.ENCRYPTED_GRADIENTS) if m.round == number]
        assert [m.receiver for m in sent] == ["fintech", "shop"]
        first, second = (m.payload.items["values"] for m in sent)
        assert isinstance(first, CipherArray)
        assert first.shape == (60,)
        assert np.array_equal(first.data, second.data)


def test_sums_are_what_the_records_say(result):
    """Opened sums are sums of the recorded gradients over the rows that a candidate would send left."""
    features = result.locals["fintech"][0].value.values
    edges = list(records(result, "fintech", boosting.BIN_THRESHOLDS)[0].value.items.values())
    columns = messages(result, boosting.CANDIDATES, "fintech")[0].payload.values
    own = records(result, "bank", boosting.OWN_GRADIENTS)[0].value.items
    level, nodes, g, h = opened(result, "fintech")[0]
    assert (level, nodes) == (0, [0])
    assert g.shape == (1, len(columns))
    for column, thresholds in enumerate(edges):
        lefts = features[:, [column]] <= thresholds.values
        wanted = sorted(zip((own["g"].values @ lefts).tolist(), (own["h"].values @ lefts).tolist(), strict=True))
        mine = columns == column
        assert sorted(zip(g[0, mine].tolist(), h[0, mine].tolist(), strict=True)) == wanted


def test_only_the_smaller_sibling_is_asked_for(result):
    for message in messages(result, boosting.NODE_ROWS):
        wanted = message.payload.items["wanted"].values
        nodes, sizes = np.unique(message.payload.items["nodes"].values, return_counts=True)
        size = dict(zip(nodes.tolist(), sizes.tolist(), strict=True))
        for node in wanted.tolist():
            sibling = node + 1 if node % 2 else node - 1
            assert node == 0 or size[node] <= size[sibling]
        if message.payload.items["level"].value in (1, 2):
            assert len(wanted) == len(nodes) // 2


@pytest.mark.parametrize("told", [True, False])
def test_leaves_are_told_or_not(told):
    found = run(boosted(THREE, tell_leaves=told))
    levels = Counter(m.payload.items["level"].value for m in messages(found, boosting.NODE_ROWS))
    assert (levels[3] > 0) == told
    assert levels[0] == levels[2] == 6


@pytest.mark.parametrize("revealed", [True, False])
def test_columns_of_candidates_are_told_or_not(revealed):
    found = run(boosted(THREE, reveal_feature=revealed))
    told = [message.payload.values for message in messages(found, boosting.CANDIDATES, "fintech")]
    held = records(found, "bank", boosting.TREES)[0].value.items
    partners = held["owner"].values > 0
    assert np.isnan(held["threshold"].values[partners]).all()
    assert not np.isnan(held["threshold"].values[held["owner"].values == 0]).any()
    assert partners.any()
    if revealed:
        assert all(sorted(set(columns.tolist())) == [0, 1, 2, 3] for columns in told)
        assert (held["column"].values[partners] >= 0).all()
    else:
        assert all((columns == boosting.HIDDEN).all() for columns in told)
        assert (held["column"].values[partners] == boosting.HIDDEN).all()


def test_the_first_tree_alone_tells_partners_nothing():
    found = run(boosted(THREE, first_tree_alone=True))
    first = {message.step for message in found.transcript.messages if message.round == 0}
    assert first == {boosting.TREE.name}
    assert {m.round for m in messages(found, boosting.ENCRYPTED_GRADIENTS)} == {1, 2}


def test_sampled_rows_alone_are_encrypted():
    found = run(boosted(THREE, row_share=0.5))
    sent = messages(found, boosting.ENCRYPTED_GRADIENTS, "bank")[0].payload.items
    assert len(sent["rows"].values) == len(sent["values"].data) == 30
    assert len(messages(found, boosting.NODE_ROWS)[0].payload.items["rows"].values) == 60


def test_truth_has_thresholds_bins_and_ranges(result):
    splits = records(result, "fintech", boosting.SPLITS)[0].value
    truth = result.truth.of(Secret(SecretKind.THRESHOLDS, "fintech"))
    assert np.array_equal(truth.ids, splits.values[:, :2])
    assert np.array_equal(truth.values[:, 0], splits.values[:, 3])
    features = result.truth.of(Secret(SecretKind.FEATURES, "fintech")).values
    bins = result.truth.of(Secret(SecretKind.BINS, "fintech")).values
    edges = list(records(result, "fintech", boosting.BIN_THRESHOLDS)[0].value.items.values())
    for column, thresholds in enumerate(edges):
        assert np.array_equal(bins[:, column], (features[:, [column]] > thresholds.values).sum(axis=1))
    assert result.truth.of(Secret(SecretKind.RANGES, "shop")).values.shape == (60, 2)


def test_a_run_is_stored_and_read_again(result, tmp_path):
    save_capture(Captured(result.transcript, result.locals), tmp_path / "run")
    again = load_capture(tmp_path / "run")
    assert again.transcript.facts == result.transcript.facts
    assert len(again.transcript.messages) == len(result.transcript.messages)


def test_facts_say_what_is_learnt():
    own = run(three_classes(boosted(THREE))).transcript.facts.of(boosting.BoostingFacts)
    assert (own.objective, own.n_classes, own.n_rounds, own.depth, own.bins) == ("softmax", 3, 3, 3, 8)


def test_three_classes_have_a_tree_each():
    found = run(three_classes(boosted(THREE)))
    assert [m.payload.items["score"].value for m in messages(found, boosting.TREE)] == [0, 1, 2] * 3


@pytest.mark.parametrize(
    ("federation", "why"),
    [
        (with_labels(boosted(THREE), np.ones(60, dtype=np.int64)), "two different values or more; got 1"),
        (with_features(boosted(THREE), "shop", np.full((60, 2), np.inf)), "columns of shop must be finite"),
        (numbers(boosted(THREE, label_epsilon=1.0)), "label_epsilon must be 0 where labels are numbers"),
        (boosted(THREE, unit_box=True), "must lie between 0 and 1; got -0"),
        (boosted({"bank": 2}), "one or more passive parties; got 1 active and 0 passive"),
        (boosted({"fintech": 2, "shop": 1}), "got 0 active and 2 passive"),
        (boosted({"bank": 2, "fintech": 0}), "fintech must hold a column or more"),
        (boosted({"bank": 0, "fintech": 2}, first_tree_alone=True), "must hold columns to grow the first tree alone"),
    ],
)
def test_what_cannot_be_trained_is_one_clear_error(federation, why):
    with pytest.raises(InputError, match=why):
        run(federation)


def test_utility_is_the_models(result):
    model, federation = model_of(result), boosted(THREE, n_test=7)
    rows = np.hstack([party.test.features for party in federation.parties])
    right = np.mean(model.confidences(rows).argmax(axis=1) == federation.parties[0].test.labels)
    assert result.utility["test_accuracy"] == right


def test_held_out_rows_are_predicted_hop_by_hop(result):
    federation = boosted(THREE, n_test=7)
    rows = np.hstack([party.test.features for party in federation.parties])
    found = records(result, "bank", boosting.PREDICTED)[0].value
    assert np.array_equal(found.values, model_of(result).scores(rows))
    asked, told = messages(result, boosting.HOP_REQUEST), messages(result, boosting.HOP)
    assert len(asked) == len(told) > 0
    for request, answer in zip(asked, told, strict=True):
        assert (request.receiver, request.sender) == (answer.sender, answer.receiver)
        assert set(request.payload.items) == {"rows", "trees", "nodes"}
        assert np.array_equal(request.payload.items["nodes"].values, answer.payload.items["nodes"].values)


def test_predictions_may_show_scores_alone(result):
    found = run(boosted(THREE, n_test=7, prediction="scores"))
    assert messages(found, boosting.HOP) == messages(found, boosting.HOP_REQUEST) == []
    shown = messages(found, boosting.SCORES)[0]
    assert (shown.sender, shown.receiver) == (boosting.ROUTING_COMPUTATION, "bank")
    assert isinstance(shown.payload, Array)
    assert np.array_equal(shown.payload.values, records(result, "bank", boosting.PREDICTED)[0].value.values)


def test_what_partners_are_told_does_not_depend_on_labels_behind_the_randomised_ones(monkeypatch):
    """The same randomised labels for other true ones: partners receive the same, the leaves are others."""
    shown = np.random.default_rng(0).integers(0, 2, 60)
    monkeypatch.setattr(booster, "randomised", lambda labels, n_classes, epsilon, rng: shown)
    federation = boosted(THREE, label_epsilon=1.0)
    others = with_labels(federation, 1 - federation.parties[0].train.labels)
    runs = [run(federation), run(others)]
    told = [
        [(m.payload.items["rows"].values, m.payload.items["nodes"].values) for m in messages(r, boosting.NODE_ROWS)]
        for r in runs
    ]
    assert len(told[0]) == len(told[1]) > 10
    for one, other in zip(*told, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    assert np.array_equal(model_of(runs[0]).threshold, model_of(runs[1]).threshold, equal_nan=True)
    assert not np.array_equal(model_of(runs[0]).weight, model_of(runs[1]).weight)
