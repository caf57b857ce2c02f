"""Signs beside blinded ciphertexts are the labels'; without signs nothing is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from federations import sealed_arbiter, vertical
from fedleak.attacks.residuals.ciphertext_sign import CiphertextSign
from fedleak.attacks.residuals.unblinded_labels import UnblindedLabels
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.whole.randomness import Randomness
from fedleak.crypto.blinding import SIGNED, encrypted, unsigned
from fedleak.crypto.paillier_cipher import Paillier
from fedleak.defenses.inexact_sharing import GaussianNoise
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
    assert UnblindedLabels.predict(signed.seen_by(("fintech",))).verdict is Verdict.UNKNOWN


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


@pytest.mark.parametrize("times", [0, 2])
def test_a_captured_run_that_lost_or_doubled_a_factor_tells_no_signs(times):
    """The product with one factor too few or too many has the signs of that party's scores in it, not the labels'."""
    done = played(widths={"bank": 2, "fintech": 2, "shop": 2, "referee": 0}, epochs=1)
    view = done.view(("fintech", "shop"), LABELS)
    of_shop = [m for m in view.messages if m.step == "train.encrypted-score" and m.sender == "shop"]
    others = [m for m in view.messages if m not in of_shop]
    assert answer(replace(view, messages=[*others, *(of_shop * times)])).status is Status.UNDETERMINED


def test_no_answer_that_is_sure_is_wrong():
    """Small batches, large steps, noise that is declared, one or two partners: what is called recovered is, and so is
    each row that is called certain."""
    rng = np.random.default_rng(11)
    n_sure = 0
    for case in range(40):
        n_rows, shops = int(rng.integers(2, 9)), {"shop": 1} if rng.random() < 0.4 else {}
        settings = sealed_arbiter(
            cipher="paillier",
            epochs=int(rng.integers(1, 3)),
            batch_size=int(rng.integers(1, n_rows + 1)),
            initialisation=str(rng.choice(["zero", "normal"])),
            learning_rate=float(rng.choice([0.1, 50.0])),
            loss=False,
            blinding="signed",
        )
        widths = {"bank": int(rng.integers(0, 3)), "fintech": 2, **shops, "referee": 0}
        federation = vertical(widths, settings, n_rows=n_rows, protocol="vertical-logistic-arbiter")
        noise = GaussianNoise(sigma=5.0) if rng.random() < 0.25 else None
        done = play(federation, Randomness.published(case), defense=noise)
        coalition = ("fintech", *shops)
        guess, truth = answer(done.view(coalition, LABELS)), done.run.truth.of(LABELS)
        labels = dict(zip(truth.ids.tolist(), truth.values[:, 0].tolist(), strict=True))
        right = np.array([labels[row] for row in guess.ids.tolist()]) == guess.values[:, 0]
        assert right[guess.confidence[:, 0] == 1.0].all()
        assert guess.status is not Status.RECOVERED or (right.all() and len(right) == n_rows)
        if CiphertextSign.predict(done.seen_by(coalition)).verdict is Verdict.EXACT:
            assert guess.status is Status.RECOVERED
        n_sure += guess.status is Status.RECOVERED
    assert n_sure > 3


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
