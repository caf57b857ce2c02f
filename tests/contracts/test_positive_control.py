"""Positive control: every attack wins the tiny case that it provably wins."""

from __future__ import annotations

import pytest
from cheaters import NeverTries
from harness import ATTACK_NAMES, deciding_score, situation

from fedleak.core.finding import Better


def share_of_the_way(name: str, attack=None) -> float:
    """0 at the baseline, 1 at a perfect answer."""
    score = deciding_score(situation(name).attempt(attack))
    assert score is not None
    perfect = 1.0 if score.better is Better.HIGHER else 0.0
    return score.gain / abs(perfect - score.baseline)


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_attack_wins_its_control(name):
    assert share_of_the_way(name) >= 0.8


def test_an_attack_that_never_tries_fails_the_control():
    assert share_of_the_way("residual-sign", NeverTries) < 0.1
