"""Swap test: an attack's answer depends on the view, not on whose data lie about."""

from __future__ import annotations

import cheaters
import numpy as np
import pytest
from harness import ATTACK_NAMES, IsolationError, guess_in_isolation, plugin_path, situation

from fedleak.attacks import ATTACKS
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.storage import guess_to_bytes


def guesses(attack, name, tmp_path) -> tuple[bytes, bytes, bytes]:
    """View of run A with A's data on the disk; the same view with B's data; view of run B with B's data."""
    first, second = situation(name), situation(name, other_secrets=True)
    path = plugin_path(attack)
    return (
        guess_in_isolation(path, first.view, tmp_path, first.federation),
        guess_in_isolation(path, first.view, tmp_path, second.federation),
        guess_in_isolation(path, second.view, tmp_path, second.federation),
    )


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_guess_depends_on_the_view_and_on_nothing_else(name, tmp_path):
    with_a, with_b, of_b = guesses(ATTACKS.get(name), name, tmp_path)
    assert with_a, "the attack wrote no guess"
    assert with_a == with_b
    assert of_b != with_a, "an attack that ignores its view would pass the line above"


def here_and_isolated(attack, name, tmp_path) -> tuple[bytes, bytes]:
    """The guess beside the whole run in memory, as in an audit, and the guess from the saved view alone.

    The run is a defended one: where an honest attack wins, a cheating one has nothing to gain.
    """
    case = situation(name, defense=GaussianNoise(sigma=5.0))
    here = attack().run(case.view, rng=np.random.default_rng(0))
    return guess_to_bytes(here), guess_in_isolation(plugin_path(attack), case.view, tmp_path, case.federation)


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_guess_of_an_audit_is_that_of_a_sealed_off_process(name, tmp_path):
    here, isolated = here_and_isolated(ATTACKS.get(name), name, tmp_path)
    assert here == isolated


def test_a_cheater_that_is_honest_only_in_isolation_is_caught(tmp_path):
    here, isolated = here_and_isolated(cheaters.SearchesTheMemory, "residual-sign", tmp_path)
    assert here != isolated


REFUSED = {
    cheaters.ReadsTheVictimsFile: "may not touch",
    cheaters.FollowsTheEnvironment: "may not touch",
    cheaters.TakesADetour: "may not touch",
    cheaters.ReadsItsOwnProcess: "may not touch",
    cheaters.ImportsTheLoader: "may not import fedleak.data",
    cheaters.KnowsTheTable: "may not touch",
    cheaters.LeavesANote: "may not write",
}


@pytest.mark.parametrize("cheater", list(REFUSED), ids=lambda cheater: cheater.__name__)
def test_a_cheater_that_reaches_out_of_its_view_is_refused(cheater, tmp_path):
    case = situation("residual-sign")
    with pytest.raises(IsolationError, match=f"an attack {REFUSED[cheater]}"):
        guess_in_isolation(plugin_path(cheater), case.view, tmp_path, case.federation)


def test_a_cheater_that_evades_the_refusal_is_told_by_its_answers(tmp_path):
    with_a, with_b, _ = guesses(cheaters.LooksAtTheFolder, "residual-sign", tmp_path)
    assert with_a != with_b
