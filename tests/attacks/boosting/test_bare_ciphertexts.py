"""Ciphertexts without blinding of their own tell labels; blinded ones tell nothing."""

from __future__ import annotations

import numpy as np
import pytest

from boosted_runs import boosted, with_labels
from fedleak.attacks.boosting.bare_ciphertexts import BareCiphertexts
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.errors import InputError
from fedleak.core.whole.randomness import Randomness
from fedleak.deviations.marked_rows import ReverseSum
from fedleak.protocols.boosting.boosting_settings import SecureBoostSettings
from fedleak.trial.play import play

TWO = {"bank": 2, "fintech": 1}
LABELS = Secret(SecretKind.LABELS, "bank")
SMALL = {"n_rows": 40, "n_trees": 2, "depth": 1, "bins": 2, "cipher": "paillier", "key_bits": 1024}


def attacked(blinding, *, n_classes=2, **changes):
    federation = boosted(TWO, **{**SMALL, "blinding": blinding, **changes})
    labels = np.random.default_rng(4).integers(0, n_classes, 40)
    done = play(with_labels(federation, labels), Randomness.published(0))
    guess = BareCiphertexts().run(done.view(("fintech",), LABELS), rng=np.random.default_rng(0))
    return guess, labels, BareCiphertexts.predict(done.seen_by(("fintech",))).verdict


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("packed", [True, False])
def test_the_public_key_opens_what_is_not_blinded(n_classes, packed):
    guess, labels, expected = attacked("none", n_classes=n_classes, packed=packed)
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values[:, 0], labels)
    assert expected is Verdict.PARTIAL


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_factor_for_all_sorts_rows_into_classes(n_classes):
    guess, labels, _ = attacked("shared", n_classes=n_classes)
    assert guess.status is Status.PARTIAL
    assert not guess.certificate
    pairs = set(zip(guess.values[:, 0].tolist(), labels.tolist(), strict=True))
    assert len(pairs) == n_classes == len({part for part, _ in pairs})


def test_fresh_factors_tell_nothing():
    guess, _, expected = attacked("fresh")
    assert guess.status is Status.UNDETERMINED
    assert np.isnan(guess.values).all()
    assert expected is Verdict.UNKNOWN


def test_randomised_labels_are_not_certified_as_the_true_ones():
    guess, labels, _ = attacked("none", label_epsilon=0.1)
    assert guess.status is Status.PARTIAL
    assert not guess.certificate
    assert (guess.values[:, 0] != labels).any()


def test_marks_in_place_of_gradients_are_not_read_as_labels():
    federation = boosted(TWO, **{**SMALL, "blinding": "none"})
    done = play(federation, Randomness.published(0), deviation=ReverseSum(key_bits=1024), deviating="bank")
    guess = BareCiphertexts().run(done.view(("fintech",), LABELS), rng=np.random.default_rng(0))
    assert guess.status is Status.UNDETERMINED


def test_the_ideal_cipher_is_always_blinded():
    with pytest.raises(InputError, match='blinding must be "fresh" under the ideal cipher'):
        SecureBoostSettings(cipher="sealed", blinding="none")
