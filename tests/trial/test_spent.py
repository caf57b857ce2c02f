"""The times that an attack itself takes."""

from __future__ import annotations

import pytest

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import FileFormatError, RunError
from fedleak.core.whole.randomness import Randomness
from fedleak.protocols.prediction.served_model import PredictionSettings
from fedleak.trial.conversation import Limits
from fedleak.trial.play import Played, play
from fedleak.trial.spent import Spent
from prediction_runs import unit_federation
from waiting_attack import WaitingAttack

WAIT = 0.2


@pytest.fixture(scope="module")
def played() -> Played:
    federation = unit_federation({"bank": 2, "fintech": 1}, PredictionSettings(), n_rows=60)
    return play(federation, Randomness.published(0))


def attempted(played: Played, attack: WaitingAttack, **options: object):
    target = Secret(SecretKind.FEATURES, "fintech")
    return played.attempt(attack, ("bank",), target, **options)


@pytest.mark.parametrize("isolated", [True, False])
def test_the_attacks_own_times_are_told_beside_those_of_the_whole_attempt(played, isolated):
    found = attempted(played, WaitingAttack(WAIT), isolated=isolated)
    assert found.guess.why == "waited"
    assert WAIT <= found.attack_seconds <= found.seconds
    assert 0 <= found.cpu_seconds < WAIT  # waiting is not computing


@pytest.mark.parametrize("isolated", [True, False])
def test_an_attack_without_an_answer_has_no_times_and_says_why(played, isolated):
    found = attempted(played, WaitingAttack(0.0, lacks="no batch to wait for"), isolated=isolated)
    assert found.spent is None
    with pytest.raises(RunError, match="waiting has no times of its own: no batch to wait for"):
        _ = found.cpu_seconds


def test_an_attack_that_is_ended_has_no_times(played):
    found = attempted(played, WaitingAttack(60.0), limits=Limits(wall_seconds=WAIT))
    with pytest.raises(RunError, match="longer than the"):
        _ = found.attack_seconds


def test_times_survive_the_wire_and_anything_else_is_refused():
    assert Spent.from_bytes(Spent(0.25, 0.125).to_bytes()) == Spent(0.25, 0.125)
    for body in (
        b"nonsense",
        b"\xff",
        b"[1]",
        b"[1, 2, 3]",
        b"[NaN, 1]",
        b"[-1, 0]",
        b"[1, Infinity]",
        b'["a", 1]',
        b"7",
    ):
        with pytest.raises(FileFormatError, match="times of an attempt must be"):
            Spent.from_bytes(body)
