"""Every attack on labels says how sure it is of each: labels are ranked by it, and decided by their rank."""

from __future__ import annotations

import numpy as np
import pytest
from harness import ATTACK_NAMES, situation

from fedleak.attacks import ATTACKS
from fedleak.core.adversary import SecretKind
from fedleak.defenses.inexact_sharing import GaussianNoise

ON_LABELS = [name for name in ATTACK_NAMES if ATTACKS.get(name).produces is SecretKind.LABELS]


@pytest.mark.parametrize("name", ON_LABELS)
def test_an_attack_on_labels_is_sure_of_each_from_a_half_to_one(name):
    attempt = situation(name).attempt()
    guess = attempt.guess
    assert guess.confidence is not None
    sure = guess.confidence[np.isfinite(guess.values)]
    assert ((sure >= 0.5) & (sure <= 1.0)).all()
    # Classes without names have no order: what they are told apart by is how many rows are right.
    assert attempt.scores[0].metric == ("label-accuracy" if ATTACKS.get(name).up_to else "auc")
    assert attempt.scores[0].beats_baseline


def test_under_noise_rows_are_told_apart_by_how_sure_they_are():
    guess = situation("residual-sign", defense=GaussianNoise(sigma=5.0)).attempt().guess
    assert len(np.unique(guess.confidence)) > 10
