"""Signs beside blinded ciphertexts are the labels'; without signs nothing is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import sealed_arbiter, vertical
from fedleak.attacks.residuals.ciphertext_sign import CiphertextSign
from fedleak.attacks.residuals.unblinded_exchange import UnblindedLabels
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.whole.randomness import Randomness
from fedleak.crypto.blinding import SIGNED, encrypted, unsigned
from fedleak.crypto.paillier_cipher import Paillier
from fedleak.trial.play import play

LABELS = Secret(SecretKind.LABELS, "bank")
TWO = {"bank": 2, "fintech": 3, "referee": 0}


def played(blinding="signed", widths=TWO, **changes):
    given = {"cipher": "paillier", "epochs": 2, "batch_size": 10, "initialisation": "normal", "loss": False, **changes}
    settings = sealed_arbiter(**given, blinding=blinding)
    federation = vertical(widths, settings, n_rows=20, protocol="vertical-logistic-arbiter")
    return play(federation, Randomness.published(0))


def answer(view, attack=CiphertextSign):
    return attack().run(view, rng=np.random.default_rng(0))


def n_right(done, guess):
    truth = done.run.truth.of(LABELS)
    told = dict(zip(guess.ids.tolist(), guess.values[:, 0].tolist(), strict=True))
    return sum(told[int(row)] == label for row, label in zip(truth.ids, truth.values[:, 0], strict=True))


@pytest.fixture(scope="module")
def signed():
    return played()


def test_signs_of_blinded_residuals_are_labels(signed):
    view = signed.view(("fintech",), LABELS)
    guess = answer(view)
    assert guess.status is Status.PARTIAL
    assert not guess.certificate
    assert n_right(signed, guess) == 20
    assert CiphertextSign.predict(signed.seen_by(("fintech",))).verdict is Verdict.PARTIAL
    assert answer(view, UnblindedLabels).status is Status.UNDETERMINED  # the ciphertexts themselves stay closed


def test_from_zero_weights_and_one_batch_it_is_exact():
    done = played(initialisation="zero", batch_size=20, epochs=1)
    guess = answer(done.view(("fintech",), LABELS))
    assert guess.status is Status.RECOVERED
    assert n_right(done, guess) == 20
    assert CiphertextSign.predict(done.seen_by(("fintech",))).verdict is Verdict.EXACT


def test_the_training_is_that_of_fresh_ciphertexts(signed):
    fresh = played("fresh")
    weights = Secret(SecretKind.WEIGHTS, "bank")
    assert np.array_equal(signed.run.truth.of(weights).values, fresh.run.truth.of(weights).values)
    assert answer(fresh.view(("fintech",), LABELS)).status is Status.UNDETERMINED
    assert CiphertextSign.predict(fresh.seen_by(("fintech",))).verdict is Verdict.UNKNOWN


def test_signs_of_a_partners_scores_are_in_the_product():
    done = played(widths={"bank": 2, "fintech": 2, "shop": 2, "referee": 0}, epochs=1)
    assert answer(done.view(("fintech",), LABELS)).status is Status.UNDETERMINED
    assert CiphertextSign.predict(done.seen_by(("fintech",))).verdict is Verdict.UNKNOWN
    assert n_right(done, answer(done.view(("fintech", "shop"), LABELS))) == 20


def test_without_signs_of_its_own_scores_nothing_is_said(signed):
    view = signed.view(("fintech",), LABELS)
    bare = [
        replace(m, payload=replace(m.payload, signs=None)) if m.step == "train.encrypted-score" else m
        for m in view.messages
    ]
    assert answer(replace(view, messages=bare)).status is Status.UNDETERMINED


def test_a_signed_ciphertext_is_the_same_modulo_n_squared():
    key = Paillier(allow_small_keys=True).generate(256)
    sent = encrypted(key.public, [5, -5, 0], 0, SIGNED)
    assert sent.signs is not None
    assert sent.signs.tolist() == [1, -1, 1]
    assert key.decrypt(unsigned(key.public, sent)) == [5, key.public.modulus - 5, 0]
    # -c is c with another random factor, since n is odd: whoever leaves the sign out loses nothing
    assert key.decrypt(replace(sent, signs=None)) == [5, key.public.modulus - 5, 0]
