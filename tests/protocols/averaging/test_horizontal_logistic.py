"""Horizontal logistic regression: the aggregate is the mean of real updates, and the server sees no single one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import InputError, PlaintextRangeError
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.theory.local_updates import closed_form
from horizontal import binary, federation, train

TABLES = {"hospital": binary(12, 5, 1), "clinic": binary(7, 5, 2), "lab": binary(6, 5, 3)}


def values_at(result, step: str) -> list[np.ndarray]:
    return [m.payload.values for m in result.transcript.messages if m.step == step]


def updates_of(result, party: str) -> list[np.ndarray]:
    return [r.value.values for r in result.locals[party] if r.name == "update"]


def test_the_aggregate_is_the_mean_of_the_updates():
    result = train(federation(TABLES, HorizontalLogisticSettings(rounds=4)))
    for number, mean in enumerate(values_at(result, "train.aggregate")):
        assert np.allclose(mean, np.mean([updates_of(result, name)[number] for name in TABLES], axis=0), atol=1e-11)


def test_a_masked_update_is_not_the_update():
    result = train(federation(TABLES, HorizontalLogisticSettings(rounds=1)))
    sent = values_at(result, "train.masked-update")
    for vector, name in zip(sent, TABLES, strict=True):
        plain = np.rint(np.ldexp(updates_of(result, name)[0], 40)).astype(np.int64).astype(np.uint64)
        assert (vector != plain).all()


@pytest.mark.parametrize("threshold", [0, 2])
def test_no_mask_serves_twice(threshold):
    """With one mask in two rounds, the difference of what a party sends is that of its updates, in the clear."""
    rounds = 4
    result = train(
        federation(TABLES, HorizontalLogisticSettings(rounds=rounds, recovery_threshold=threshold, colluders=0))
    )
    sent = {m.sender: [] for m in result.transcript.messages if m.step == "train.masked-update"}
    for message in result.transcript.messages:
        if message.step == "train.masked-update":
            sent[message.sender].append(message.payload.values)
    for name in TABLES:
        encoded = [
            np.rint(np.ldexp(update, 40)).astype(np.int64).astype(np.uint64) for update in updates_of(result, name)
        ]
        masks = [vector - plain for vector, plain in zip(sent[name], encoded, strict=True)]
        assert len(masks) == rounds
        assert len({word for mask in masks for word in mask.tolist()}) == rounds * 5, "every word is a fresh one"


def test_a_synchronised_update_is_the_gradient_of_the_quadratic_loss():
    fed = federation(TABLES, HorizontalLogisticSettings(rounds=1, learning_rate=0.02))
    result = train(fed)
    theta = values_at(result, "setup.first-model")[0]
    x, y = fed.party("clinic").train.features, 2.0 * fed.party("clinic").train.labels - 1
    gradient = x.T @ x @ theta / 4 - x.T @ y / 2
    assert np.allclose(updates_of(result, "clinic")[0], 0.02 * gradient, atol=1e-11)


def test_a_rate_that_nobody_chose_is_one_at_which_training_does_not_diverge():
    """At 0.01, sums over so many rows grew from round to round until no mask could hold them."""
    rows = {name: np.random.default_rng(seed).random((10_000, 10)) for seed, name in enumerate(("hospital", "clinic"))}
    settings = HorizontalLogisticSettings(rounds=60)
    with pytest.raises(PlaintextRangeError, match="training must not diverge"):
        train(federation(rows, replace(settings, learning_rate=0.01)))
    result = train(federation(rows, settings))
    assert result.transcript.facts.learning_rate == 4 / (10_000 * 10)
    lengths = [np.linalg.norm(mean) for mean in values_at(result, "train.aggregate")]
    assert lengths[-1] < 0.5 * lengths[0]


@pytest.mark.parametrize(
    ("batch_size", "n_rows", "n_columns", "rate"),
    [(0, 20, 5, 0.01), (8, 10_000, 5, 0.01), (200, 100, 10, 0.004), (200, None, 10, 0.002), (0, None, 10, None)],
)
def test_the_rate_is_chosen_by_what_everybody_knows(batch_size, n_rows, n_columns, rate):
    settings = HorizontalLogisticSettings(batch_size=batch_size)
    assert settings.first_rate(n_rows, n_columns) == rate
    assert replace(settings, learning_rate=0.3).first_rate(n_rows, n_columns) == 0.3


def test_local_steps_follow_theorem_1():
    settings = HorizontalLogisticSettings(rounds=1, learning_rate=0.1, batch_size=4, update="asynchronised")
    fed = federation({"hospital": binary(4, 5, 1), "clinic": binary(12, 5, 2)}, settings)
    result = train(fed)
    theta, update = values_at(result, "setup.first-model")[0], updates_of(result, "clinic")[0]
    x, y = fed.party("clinic").train.features, 2.0 * fed.party("clinic").train.labels - 1
    # The party deals its rows at random: one of the orders of its batches has to give the update.
    from fedleak.core.steps import Role
    from fedleak.core.whole.randomness import Randomness
    from fedleak.core.whole.run import MemorySink
    from fedleak.protocols.actor import Actor

    order = Actor("clinic", Role.ACTIVE, (), MemorySink(), Randomness.published(1)).rng.permutation(12)
    batches = [order[i : i + 4] for i in (0, 4, 8)]
    gamma, eta = closed_form([x[b].T @ x[b] for b in batches], [x[b].T @ y[b] for b in batches], 0.1)
    assert np.allclose(update, gamma @ theta - 0.05 * eta, atol=1e-10)


def test_fixed_batches_take_turns_and_shuffled_ones_do_not_recur():
    settings = HorizontalLogisticSettings(
        rounds=6, batch_size=4, learning_rate=1e-12, shuffled=("hospital",), fraction_bits=52
    )
    result = train(federation(TABLES, settings))
    clinic, hospital = updates_of(result, "clinic"), updates_of(result, "hospital")
    assert np.array_equal(np.sign(clinic[0]), np.sign(clinic[2]))
    assert len({u.tobytes() for u in hospital}) == 6


def test_the_truth_has_every_group_of_parties():
    result = train(federation(TABLES, HorizontalLogisticSettings(rounds=1)))
    records = result.truth.of(Secret(SecretKind.RECORDS, "clinic+lab")).values
    products = result.truth.of(Secret(SecretKind.COLUMN_PRODUCTS, "clinic+lab")).values
    assert records.shape == (13, 6)
    assert np.array_equal(products[:, :-1], records[:, :-1].T @ records[:, :-1])


def test_training_learns():
    rng = np.random.default_rng(0)
    rows = {"hospital": binary(60, 6, 4), "clinic": binary(40, 6, 5)}
    fed = federation(rows, HorizontalLogisticSettings(rounds=200, learning_rate=0.02, initialisation="zero"))
    rule = rng.standard_normal(6)
    for party in fed.parties[:2]:
        object.__setattr__(party.train, "labels", (party.train.features @ rule > 0).astype(int))
    assert train(fed).utility["train_accuracy"] > 0.85


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 0}, "rounds must be 1"),
        ({"batch_size": -1}, "batch_size must be"),
        ({"learning_rate": -0.1}, "learning_rate must be 0 or more"),
        ({"rate_decay": -0.1}, "rate_decay must be 0 or more"),
        ({"fraction_bits": 60}, "fraction_bits must be"),
        ({"update": "sometimes"}, "update must be one of"),
    ],
)
def test_wrong_settings_say_what_is_wrong(changes, message):
    with pytest.raises(InputError, match=message):
        HorizontalLogisticSettings(**changes)


def test_a_federation_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="two or more active parties"):
        train(federation({"hospital": binary(4, 3)}, HorizontalLogisticSettings()))
    with pytest.raises(InputError, match="shuffled must name"):
        train(federation(TABLES, HorizontalLogisticSettings(shuffled=("nobody",))))
    with pytest.raises(InputError, match="columns of clinic"):
        train(federation({"hospital": binary(4, 3), "clinic": binary(4, 5)}, HorizontalLogisticSettings()))
