"""Swap test: an attack's answer depends on the view, not on whose data lie about."""

from __future__ import annotations

import pytest
from cheaters import LooksAtTheFolder, ReadsTheVictimsFile
from harness import ATTACK_NAMES, IsolationError, guess_in_isolation, leave_secrets, plugin_path, situation

from fedleak.attacks import ATTACKS


def both_guesses(attack, name, tmp_path) -> tuple[bytes, bytes]:
    """The same view of run A, once with A's data on the disk and once with B's."""
    first, second = situation(name), situation(name, other_secrets=True)
    leave_secrets(first.federation, tmp_path / "a")
    leave_secrets(second.federation, tmp_path / "b")
    path = plugin_path(attack)
    return (
        guess_in_isolation(path, first.view, tmp_path, tmp_path / "a"),
        guess_in_isolation(path, first.view, tmp_path, tmp_path / "b"),
    )


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_guess_does_not_depend_on_what_else_is_there(name, tmp_path):
    with_a, with_b = both_guesses(ATTACKS.get(name), name, tmp_path)
    assert with_a, "the attack wrote no guess"
    assert with_a == with_b


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_guess_does_depend_on_the_view(name, tmp_path):
    """Otherwise the test above would pass for an attack that ignores its input."""
    first, second = situation(name), situation(name, other_secrets=True)
    leave_secrets(first.federation, tmp_path / "a")
    leave_secrets(second.federation, tmp_path / "b")
    path = plugin_path(ATTACKS.get(name))
    assert guess_in_isolation(path, first.view, tmp_path, tmp_path / "a") != guess_in_isolation(
        path, second.view, tmp_path, tmp_path / "b"
    )


def test_a_cheater_that_opens_the_data_is_refused(tmp_path):
    with pytest.raises(IsolationError, match="an attack may not touch"):
        both_guesses(ReadsTheVictimsFile, "residual-sign", tmp_path)


def test_a_cheater_that_evades_the_refusal_is_told_by_its_answers(tmp_path):
    with_a, with_b = both_guesses(LooksAtTheFolder, "residual-sign", tmp_path)
    assert with_a != with_b
