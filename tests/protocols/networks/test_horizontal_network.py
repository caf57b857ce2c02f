"""FedSGD and FedAvg of networks: what clients send follows from their rows, and the server steps by its mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run
from fedleak.core.errors import InputError
from fedleak.models.layered import layered_of
from fedleak.models.local_batch import LocalBatch, loss_gradient
from fedleak.protocols.networks import vocabulary as networks
from network_runs import row_clients, server

pytest.importorskip("torch")


def sent(result, step):
    return [message for message in result.transcript.messages if message.step == step.name]


def arrays(message):
    return {name: item.values for name, item in message.payload.items.items()}


def batch_rows(result, client, number):
    found = [r for r in result.locals[client] if r.name == networks.BATCH_ROWS.name and r.round == number]
    return found[0].value.values


def gradient(network, party, ids):
    rows = ids - party.train.ids[0]
    batch = LocalBatch(network, party.train.features[rows])
    return batch.back(loss_gradient(batch.outputs, party.train.labels[rows])[1])


@pytest.mark.parametrize("shape", [(5,), (4, 4, 2)])
def test_a_gradient_is_that_of_the_clients_batch(shape):
    federation = row_clients(shape=shape)
    result = run(federation)
    (network,) = [layered_of(message.payload) for message in sent(result, networks.NETWORK)]
    found = sent(result, networks.LAYER_GRADIENTS)
    assert len(found) == 8
    for message in found:
        party = federation.party(message.sender)
        ids = batch_rows(result, message.sender, message.round)
        assert ids.shape == (1, 5)
        expected = gradient(network, party, ids[0])
        for name, values in arrays(message).items():
            assert values == pytest.approx(expected[name], abs=1e-7)


def test_the_server_steps_by_the_mean_gradient():
    result = run(row_clients(trained=True, rounds=2))
    before, after = (layered_of(message.payload) for message in sent(result, networks.NETWORK))
    first = [arrays(message) for message in sent(result, networks.LAYER_GRADIENTS) if message.round == 0]
    for name in before.parameter_order:
        mean = np.mean([one[name] for one in first], axis=0)
        assert after.parameters[name] == pytest.approx(before.parameters[name] - 0.1 * mean, abs=1e-6)


def test_an_update_is_what_local_steps_changed_and_the_server_adds_its_mean():
    federation = row_clients(trained=True, rounds=2, update="change", local_steps=3)
    result = run(federation)
    before, after = (layered_of(message.payload) for message in sent(result, networks.NETWORK))
    updates = {m.sender: arrays(m) for m in sent(result, networks.LAYER_UPDATES) if m.round == 0}
    party, local = federation.parties[0], before
    ids = batch_rows(result, party.name, 0)
    assert ids.shape == (3, 5)
    for batch in ids:
        step = gradient(local, party, batch)
        local = local.with_parameters({n: local.parameters[n] - np.float32(0.1) * g for n, g in step.items()})
    for name in before.parameter_order:
        changed = local.parameters[name] - before.parameters[name]
        assert updates[party.name][name] == pytest.approx(changed, abs=1e-6)
        mean = np.mean([one[name] for one in updates.values()], axis=0)
        assert after.parameters[name] == pytest.approx(before.parameters[name] + mean, abs=1e-6)


@pytest.mark.parametrize("known", [True, False])
def test_batches_are_told_to_the_server_or_to_nobody(known):
    result = run(row_clients(known_batches=known))
    told = sent(result, networks.OWN_BATCH)
    assert bool(told) == known
    assert all(message.receiver == "server" for message in told)
    for message in told:
        assert np.array_equal(message.payload.values, batch_rows(result, message.sender, message.round))


@pytest.mark.parametrize("changes", [{"rounds": 500}, {"rounds": 150, "update": "change", "local_steps": 3}])
def test_it_learns(changes):
    federation = row_clients(n_rows=60, trained=True, batch_size=20, learning_rate=1.0, **changes)
    parties = []
    for party in federation.parties[:2]:
        labels = (party.train.features[:, 0] > 0.5).astype(np.int64) + (party.train.features[:, 1] > 0.5)
        parties.append(replace(party, train=replace(party.train, labels=labels)))
    result = run(replace(federation, parties=(*parties, server())))
    assert result.utility["train_accuracy"] > result.baselines["train_accuracy"] + 0.15


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"local_steps": 0}, "local_steps must be 1, or more with"),
        ({"local_steps": 2}, "local_steps must be 1, or more with"),
        ({"update": "weights"}, "update must be one of gradient, change; got 'weights'"),
        ({"update": "change", "optimiser": "adam"}, 'optimiser must be "sgd" with'),
        ({"layers": ("linear",)}, "layers, layer 1: linear must have a value for width"),
    ],
)
def test_settings_that_are_refused(changes, why):
    with pytest.raises(InputError, match=why):
        row_clients(**changes)


def test_who_must_be_there():
    whole = row_clients()
    with pytest.raises(InputError, match="one or more active parties and one server; got 2 and 0"):
        run(replace(whole, parties=whole.parties[:2]))
    other = replace(whole.parties[1], columns=tuple("abcde"))
    with pytest.raises(InputError, match="columns of client 1 must be those of client 0"):
        run(replace(whole, parties=(whole.parties[0], other, whole.parties[2])))
    with pytest.raises(InputError, match="batch_size must be at most the 8 training rows; got 9"):
        run(row_clients(batch_size=9))
