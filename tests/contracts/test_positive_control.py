"""Positive control: every attack wins the tiny case that it provably wins."""

from __future__ import annotations

import numpy as np
import pytest
from cheaters import NeverTries
from harness import ATTACK_NAMES, situation

from fedleak.attacks import ATTACKS
from fedleak.core.finding import Better
from fedleak.metrics import metrics_for


def share_of_the_way(attack, name: str) -> float:
    """0 at the baseline, 1 at a perfect answer."""
    case = situation(name)
    guess = attack().run(case.view, rng=np.random.default_rng(0))
    metric = metrics_for(guess.secret.kind, attack.measured_by)[0]
    truth = case.run.truth.of(guess.secret)
    score = metric.score(guess, truth, case.view.knowledge, up_to=attack.up_to, rng=np.random.default_rng(0))
    perfect = 1.0 if score.better is Better.HIGHER else 0.0
    return score.gain / abs(perfect - score.baseline)


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_attack_wins_its_control(name):
    assert share_of_the_way(ATTACKS.get(name), name) >= 0.8


def test_an_attack_that_never_tries_fails_the_control():
    assert share_of_the_way(NeverTries, "residual-sign") < 0.1
