"""Positive control: every attack wins the tiny case that it provably wins."""

from __future__ import annotations

from functools import partial

import pytest
from cheaters import NeverTries
from harness import ATTACK_NAMES, situation

from fedleak.testing.contracts import check_control, share_of_the_way


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_attack_wins_its_control(name):
    check_control(partial(situation, name))


def test_an_attack_that_never_tries_fails_the_control():
    assert share_of_the_way(situation("residual-sign"), NeverTries) < 0.1
