"""Swap test: an attack's answer depends on the view, not on whose data lie about."""

from __future__ import annotations

import pytest
from cheaters import LooksAtTheFolder, ReadsTheVictimsFile
from harness import ATTACK_NAMES, IsolationError, guess_in_isolation, leave_secrets, plugin_path, situation

from fedleak.attacks import ATTACKS


def guesses(attack, name, tmp_path) -> tuple[bytes, bytes, bytes]:
    """View of run A with A's data on the disk; the same view with B's data; view of run B with B's data."""
    first, second = situation(name), situation(name, other_secrets=True)
    leave_secrets(first.federation, tmp_path / "a")
    leave_secrets(second.federation, tmp_path / "b")
    path = plugin_path(attack)
    return (
        guess_in_isolation(path, first.view, tmp_path / "view-a", tmp_path / "a"),
        guess_in_isolation(path, first.view, tmp_path / "view-a-again", tmp_path / "b"),
        guess_in_isolation(path, second.view, tmp_path / "view-b", tmp_path / "b"),
    )


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_guess_depends_on_the_view_and_on_nothing_else(name, tmp_path):
    with_a, with_b, of_b = guesses(ATTACKS.get(name), name, tmp_path)
    assert with_a, "the attack wrote no guess"
    assert with_a == with_b
    assert of_b != with_a, "an attack that ignores its view would pass the line above"


def test_a_cheater_that_opens_the_data_is_refused(tmp_path):
    with pytest.raises(IsolationError, match="an attack may not touch"):
        guesses(ReadsTheVictimsFile, "residual-sign", tmp_path)


def test_a_cheater_that_evades_the_refusal_is_told_by_its_answers(tmp_path):
    with_a, with_b, _ = guesses(LooksAtTheFolder, "residual-sign", tmp_path)
    assert with_a != with_b
