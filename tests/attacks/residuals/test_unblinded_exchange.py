"""Encrypted scores and residuals without a random factor open; blinded ones tell nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import sealed_arbiter, vertical
from fedleak.attacks.residuals.unblinded_exchange import UnblindedScores
from fedleak.attacks.residuals.unblinded_labels import UnblindedLabels
from fedleak.attacks.unblinded import common_modulus, integers_of, opened
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.errors import InputError
from fedleak.core.payload import CipherArray
from fedleak.core.whole.randomness import Randomness
from fedleak.trial.play import play

SCORES, LABELS = Secret(SecretKind.PARTIAL_SCORES, "fintech"), Secret(SecretKind.LABELS, "bank")
REAL = {"cipher": "paillier", "key_bits": 1024, "epochs": 2, "batch_size": 10, "initialisation": "normal"}


def played(blinding, n_rows=20, **changed):
    settings = sealed_arbiter(**REAL | changed, blinding=blinding, loss=False)
    widths = {"bank": 2, "fintech": 3, "referee": 0}
    federation = vertical(widths, settings, n_rows=n_rows, protocol="vertical-logistic-arbiter")
    return play(federation, Randomness.published(0))


@pytest.fixture(scope="module")
def bare():
    return played("none")


def answer(attack, view):
    return attack().run(view, rng=np.random.default_rng(0))


@pytest.mark.parametrize("key_known", [True, False])
def test_scores_open_without_the_private_key(bare, key_known):
    view = bare.view(("bank",), SCORES)
    if not key_known:
        view = replace(view, messages=[m for m in view.messages if m.step != "setup.public-key"])
    guess, truth = answer(UnblindedScores, view), bare.run.truth.of(SCORES)
    assert guess.status is Status.RECOVERED
    assert guess.certificate
    order = np.lexsort(truth.ids.T[::-1])
    assert np.array_equal(guess.ids[np.lexsort(guess.ids.T[::-1])], truth.ids[order])
    assert np.allclose(guess.values[np.lexsort(guess.ids.T[::-1])], truth.values[order], atol=1e-9)
    assert UnblindedScores.predict(bare.seen_by(("bank",))).verdict is Verdict.PARTIAL


def test_signs_of_residuals_are_labels(bare):
    guess, truth = answer(UnblindedLabels, bare.view(("fintech",), LABELS)), bare.run.truth.of(LABELS)
    told = dict(zip(guess.ids.tolist(), guess.values[:, 0].tolist(), strict=True))
    assert not guess.certificate
    assert [told[int(row)] for row in truth.ids] == truth.values[:, 0].tolist()


def test_labels_of_batches_that_recur_are_proved():
    """Residuals hold the own scores too: without them bank's two columns leave one labeling."""
    done = played("none", n_rows=24, epochs=8, batch_size=24, learning_rate=0.5)
    guess, truth = answer(UnblindedLabels, done.view(("fintech",), LABELS)), done.run.truth.of(LABELS)
    assert guess.status is Status.RECOVERED
    assert "one labeling alone leaves scores within the 2 directions" in guess.certificate
    assert guess.values[np.argsort(guess.ids)].tolist() == truth.values[np.argsort(truth.ids)].tolist()
    assert (guess.confidence == 1).all()


def test_declared_noise_proves_nothing():
    done = played("none", n_rows=24, epochs=8, batch_size=24, learning_rate=0.5)
    view = done.view(("fintech",), LABELS)
    noisy = replace(view, facts=view.facts.with_score_noise({"bank": 1e-3}))
    guess = answer(UnblindedLabels, noisy)
    assert guess.status is Status.PARTIAL
    assert not guess.certificate
    assert guess.evidence["rows proved"] == 0


def test_fresh_factors_tell_nothing():
    done = played("fresh")
    for attack, party, target in ((UnblindedScores, "bank", SCORES), (UnblindedLabels, "fintech", LABELS)):
        guess = answer(attack, done.view((party,), target))
        assert guess.status is Status.UNDETERMINED
        assert not len(guess.values)
        assert attack.predict(done.seen_by((party,))).verdict is Verdict.UNKNOWN


def test_one_blinded_ciphertext_is_not_passed_over(bare):
    view = bare.view(("bank",), SCORES)
    messages = list(view.messages)
    place = next(i for i, m in enumerate(messages) if m.step == "train.encrypted-score")
    data = messages[place].payload.data.copy()
    data[0, -1] ^= 2
    messages[place] = replace(messages[place], payload=replace(messages[place].payload, data=data))
    assert answer(UnblindedScores, replace(view, messages=messages)).status is Status.UNDETERMINED


def test_signed_integers_open_as_well():
    """As a library keeps them that sends 1 - |m| n with a sign."""
    modulus = (1 << 521) - 1
    plain = [3, -7, 12, -1, 5, 8, -20, 9, 11]
    numbers = [1 + value * modulus for value in plain]
    width = max(abs(n) for n in numbers).bit_length() // 8 + 1
    data = np.frombuffer(b"".join(abs(n).to_bytes(width, "big") for n in numbers), dtype=np.uint8).reshape(9, width)
    signs = np.sign(np.array(plain)).astype(np.int8)
    held = integers_of(CipherArray("key", "paillier", data, (9,), 0, signs=signs))
    assert common_modulus([held]) == modulus
    assert opened(held, modulus) == plain
    assert common_modulus([held[:5]]) is None


def test_the_ideal_cipher_is_always_blinded():
    with pytest.raises(InputError, match='blinding must be "fresh" under the ideal cipher'):
        sealed_arbiter(blinding="none")
