"""Vertical logistic regression with an arbiter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import run, sealed_arbiter, vertical
from fedleak.core.adversary import Capability
from fedleak.core.errors import InputError
from fedleak.crypto import fixed_point
from fedleak.crypto.sent_keys import private_key_from_payload
from fedleak.protocols import PROTOCOLS

NAME = "vertical-logistic-arbiter"
WIDTHS = {"bank": 3, "fintech": 4, "referee": 0}


def federation(settings, widths=None):
    return vertical(widths or WIDTHS, settings, protocol=NAME)


def records(result, party: str, name: str) -> list[np.ndarray]:
    return [record.value.values for record in result.locals[party] if record.name == name]


def reference_gradients(setup, result) -> dict[str, list[np.ndarray]]:
    """Plain gradient descent on the Taylor loss with L2 and decay, in floating point."""
    settings = setup.settings
    names = [party.name for party in setup.parties if party.columns]
    rows = {name: setup.party(name).train.features for name in names}
    signs = 2.0 * setup.party("bank").train.labels - 1
    weights = {name: records(result, name, "weights")[0] for name in names}
    found: dict[str, list[np.ndarray]] = {name: [] for name in names}
    batches = [m for m in result.transcript.messages if m.step == "train.batch"]
    per_epoch = len(batches) // settings.epochs
    for number, message in enumerate(batches):
        batch = message.payload.values - 100
        rate = settings.learning_rate / (np.sqrt(1 + number // per_epoch) if settings.decay else 1.0)
        residual = 0.25 * sum(rows[n][batch] @ weights[n] for n in names) - 0.5 * signs[batch]
        for name in names:
            gradient = rows[name][batch].T @ residual / len(batch)
            found[name].append(gradient)
            weights[name] = weights[name] - rate * (gradient + settings.l2 * weights[name])
    return found


@pytest.mark.parametrize("changes", [{}, {"l2": 0.5}, {"decay": True, "initialisation": "xavier"}])
def test_gradients_equal_a_plaintext_reference(changes):
    setup = federation(sealed_arbiter(**changes))
    result = run(setup)
    expected = reference_gradients(setup, result)
    for party in ("bank", "fintech"):
        # Residuals and features are rounded to 40 fractional bits: 1e-12 each, a little more after the sum.
        np.testing.assert_allclose(records(result, party, "gradient"), expected[party], rtol=0, atol=1e-11)


def test_three_data_parties():
    setup = federation(sealed_arbiter(), {"bank": 2, "fintech": 3, "shop": 2, "referee": 0})
    result = run(setup)
    expected = reference_gradients(setup, result)
    for party in ("bank", "fintech", "shop"):
        np.testing.assert_allclose(records(result, party, "gradient"), expected[party], rtol=0, atol=1e-11)


def test_the_arbiter_opens_gradients_and_the_loss():
    setup = federation(sealed_arbiter(epochs=1))
    result = run(setup)
    opened = records(result, "referee", "gradient-of-fintech")
    np.testing.assert_allclose(opened, records(result, "fintech", "gradient"), atol=1e-11)
    losses = records(result, "referee", "loss")
    assert losses[0][0] == pytest.approx(np.log(2), abs=1e-9)  # at zero weights
    signs = 2.0 * setup.party("bank").train.labels - 1
    batch = [m.payload.values - 100 for m in result.transcript.messages if m.step == "train.batch"][1]
    score = sum(setup.party(n).train.features[batch] @ records(result, n, "weights")[1] for n in ("bank", "fintech"))
    expected = np.mean(np.log(2) - 0.5 * signs[batch] * score + score**2 / 8)
    assert losses[1][0] == pytest.approx(expected, abs=1e-9)


def real_run():
    """A round under Paillier, whose public key travels: what anybody can compute with it is computed here."""
    settings = sealed_arbiter(cipher="paillier", epochs=1, batch_size=24, initialisation="xavier")
    setup = federation(settings)
    result = run(setup)
    return setup, result, private_key_from_payload(records_of(result, "referee", "private-key")[0])


def records_of(result, party: str, name: str) -> list:
    return [record.value for record in result.locals[party] if record.name == name]


def sent(result, step: str, sender: str):
    return next(m.payload for m in result.transcript.messages if (m.step, m.sender) == (step, sender))


def encoded(values) -> list[int]:
    return [int(value) for value in fixed_point.encode(np.asarray(values), 40)]


def test_the_passive_party_cannot_open_a_residual_by_trying():
    """[[d]] is the passive party's own ciphertext plus what the active party knows: whoever guesses that, row by row,
    adds it to its own ciphertext and compares bytes. Where the weights are known there are two guesses, the labels."""
    setup, result, key = real_run()
    own, residual = sent(result, "train.encrypted-score", "fintech"), sent(result, "train.encrypted-residual", "bank")
    bank = setup.party("bank").train
    batch = sent(result, "train.batch", "bank").values - 100
    score = bank.features[batch] @ records(result, "bank", "weights")[0]
    right = key.public.add_residues(own, encoded(0.25 * (score - 4.0 * bank.labels[batch] + 2.0)))
    assert key.decrypt(right) == key.decrypt(residual), "the guess is right, and would be seen to be"
    assert not (right.data == residual.data).all(axis=1).any()
    assert len({row.tobytes() for row in residual.data}) == 24


@pytest.mark.parametrize("party", ["bank", "fintech"])
def test_who_knows_the_residuals_cannot_try_rows_on_a_gradient(party):
    """A partner that colludes with the arbiter has [[d]] and the key: from rows that it guesses follows a gradient."""
    setup, result, key = real_run()
    residual, gradient = (
        sent(result, "train.encrypted-residual", "bank"),
        sent(result, "train.encrypted-gradient", party),
    )
    rows = setup.party(party).train.features[sent(result, "train.batch", "bank").values - 100]
    scaled = fixed_point.encode(rows / len(rows), 40)
    right = key.public.add_residues(key.public.matvec(scaled.T, residual, scalar_fraction_bits=40), [0] * rows.shape[1])
    assert key.decrypt(right) == key.decrypt(gradient)
    assert not (right.data == gradient.data).all(axis=1).any()


def test_who_knows_the_scores_cannot_try_scores_on_a_loss():
    """The same of the loss, whose ingredients are the passive party's ciphertexts."""
    setup, result, key = real_run()
    own, squares = (sent(result, f"train.encrypted-{what}", "fintech") for what in ("score", "loss"))
    loss = sent(result, "train.encrypted-loss", "bank")
    bank = setup.party("bank").train
    batch = sent(result, "train.batch", "bank").values - 100
    known = bank.features[batch] @ records(result, "bank", "weights")[0] - 4.0 * bank.labels[batch] + 2.0
    factor = fixed_point.encode(known[None, :] / len(batch), 40)
    right = key.public.add(key.public.matvec(factor, own, scalar_fraction_bits=40), squares)
    difference = (key.decrypt(loss)[0] - key.decrypt(right)[0]) % key.public.modulus
    assert key.public.add_residues(right, [difference]).data.tobytes() != loss.data.tobytes()


def test_paillier_gives_the_same_gradients():
    settings = sealed_arbiter(epochs=1, batch_size=12)
    ideal, real = run(federation(settings)), run(federation(replace(settings, cipher="paillier")))
    for party in ("bank", "fintech"):
        assert np.array(records(ideal, party, "gradient")).tobytes() == (
            np.array(records(real, party, "gradient")).tobytes()
        )


def test_what_the_arbiter_has():
    parties = tuple(party.facts for party in federation(sealed_arbiter()).parties)
    capabilities = PROTOCOLS.get(NAME).reveals(sealed_arbiter(), parties, ("referee",))
    assert Capability.ALL_GRADIENTS in capabilities
    assert Capability.OWN_GRADIENT not in capabilities


def test_an_arbiter_is_needed():
    with pytest.raises(InputError, match="must have one arbiter; got 0"):
        run(federation(sealed_arbiter(), {"bank": 3, "fintech": 4}))
