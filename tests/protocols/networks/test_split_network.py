"""The split network: the same training as the cut one, with weights and their gradients at home."""

from __future__ import annotations

import numpy as np
import pytest

from federations import run
from fedleak.models.layered import layered_of
from fedleak.models.local_batch import LocalBatch
from fedleak.protocols.networks import vocabulary as networks
from network_runs import cut_pictures, cut_table, split

pytest.importorskip("torch")


def records(result, party, name):
    return [record for record in result.locals[party] if record.name == name.name]


def test_only_embeddings_and_their_gradients_are_sent():
    result = run(split(cut_table(trained=True)))
    assert {(m.step, m.sender, m.receiver) for m in result.transcript.messages} == {
        ("train.batch-rows", "bank", "*"),
        ("train.embeddings", "fintech", "bank"),
        ("train.embedding-gradients", "bank", "fintech"),
    }


@pytest.mark.parametrize("federation", [cut_table(trained=True), cut_pictures(trained=True)], ids=["table", "pictures"])
def test_a_party_steps_by_what_it_received(federation):
    federation = split(federation)
    result = run(federation)
    kept = [layered_of(record.value) for record in records(result, "fintech", networks.BOTTOM_NETWORK)]
    rounds = federation.settings.rounds
    assert len(kept) == rounds + 1
    rows = federation.parties[1].train.features
    sent = {(m.round, m.step): m.payload.values for m in result.transcript.messages}
    for number in range(rounds):
        batch = LocalBatch(kept[number], rows[sent[number, networks.BATCH.name] - 100])
        assert np.array_equal(batch.outputs, sent[number, networks.EMBEDDINGS.name])
        gradients = batch.back(sent[number, networks.EMBEDDING_GRADIENTS.name])
        for name, gradient in gradients.items():
            moved = kept[number].parameters[name] - np.float32(0.1) * gradient
            assert kept[number + 1].parameters[name] == pytest.approx(moved, abs=1e-6)


def test_gradients_of_embeddings_are_those_of_the_mean_loss():
    """A row of a softmax's gradient sums to zero over the classes; through a linear top it is (p - y) W / K."""
    federation = split(cut_table(batch_size=6, rounds=1))
    result = run(federation)
    sent = {m.step: m.payload.values for m in result.transcript.messages}
    top = layered_of(records(result, "bank", networks.TOP_NETWORK)[0].value)
    own = layered_of(records(result, "bank", networks.BOTTOM_NETWORK)[0].value)
    bank = federation.parties[0].train
    rows = sent[networks.BATCH.name] - 100
    joined = np.hstack([LocalBatch(own, bank.features[rows]).outputs, sent[networks.EMBEDDINGS.name]])
    weight = top.parameters["0.weight"]
    scores = joined @ weight.T + top.parameters["0.bias"]
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    expected = (shares - np.eye(2)[bank.labels[rows]]) @ weight[:, 3:] / 6
    assert sent[networks.EMBEDDING_GRADIENTS.name] == pytest.approx(expected, abs=1e-6)


def test_a_fixed_network_is_kept_once_before_and_once_after():
    result = run(split(cut_table()))
    assert len(records(result, "fintech", networks.BOTTOM_NETWORK)) == 2
    assert len(records(result, "bank", networks.BATCH_ROWS)) == 4


def test_it_learns():
    changes = {"n_rows": 60, "rounds": 300, "batch_size": 20, "optimiser": "adam", "learning_rate": 0.02}
    result = run(split(cut_table(trained=True, **changes)))
    assert result.utility["train_accuracy"] > result.baselines["train_accuracy"] + 0.2
