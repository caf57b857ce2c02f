"""Swap test: an attack's answer depends on the view, not on whose data lie about."""

from __future__ import annotations

from functools import partial

import cheaters
import pytest
from harness import ATTACK_NAMES, situation

from fedleak.attacks import ATTACKS
from fedleak.defenses.inexact_sharing import GaussianNoise
from fedleak.storage import guess_to_bytes
from fedleak.testing.contracts import check_swap, swapped
from fedleak.trial.conversation import AttackFailedError

NOISE = GaussianNoise(sigma=5.0)


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_guess_depends_on_the_view_and_on_nothing_else(name, here, elsewhere):
    check_swap(ATTACKS.get(name), partial(situation, name), here, elsewhere)


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_the_guess_beside_the_whole_run_is_that_of_a_sealed_off_process(name):
    """On a defended run: where an honest attack wins, a cheating one has nothing to gain."""
    case = situation(name, defense=NOISE)
    assert guess_to_bytes(case.attempt(isolated=False).guess) == guess_to_bytes(case.attempt().guess)


def test_the_facts_tell_of_the_defense():
    assert situation("residual-sign", defense=NOISE).facts.outside_noise
    assert not situation("residual-sign").facts.outside_noise


REFUSED = {
    cheaters.ReadsTheVictimsFile: "may not touch",
    cheaters.FollowsTheEnvironment: "may not touch",
    cheaters.TakesADetour: "may not touch",
    cheaters.ReadsItsOwnProcess: "may not touch",
    cheaters.ImportsTheLoader: "may not import fedleak.data",
    cheaters.KnowsTheTable: "may not touch",
    cheaters.LeavesANote: "may not write",
    cheaters.BendsTheYardstick: "may not import fedleak.metrics",
}


@pytest.mark.parametrize("cheater", list(REFUSED), ids=lambda cheater: cheater.__name__)
def test_a_cheater_that_reaches_out_of_its_view_is_refused(cheater, here):
    case = situation("residual-sign")
    with pytest.raises(AttackFailedError, match=f"an attack {REFUSED[cheater]}"):
        here.guess(cheater, case, case.played.federation)


def test_a_cheater_that_evades_the_refusal_is_told_by_its_answers(here, elsewhere):
    with_a, with_b, _ = swapped(cheaters.LooksAtTheFolder, partial(situation, "residual-sign"), here, elsewhere)
    assert with_a != with_b
