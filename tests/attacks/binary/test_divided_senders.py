"""A server that lies about who sent: it opens single updates where the threshold is low, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fedleak.attacks.binary.divided_senders import DividedSenders as Attack
from fedleak.attacks.binary.divided_senders import opened_updates
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.attack import Status, Verdict
from fedleak.core.errors import ProtocolError
from fedleak.deviations.two_lists import DividedSenders
from fedleak.protocols.averaging import vocabulary as averaging
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings
from fedleak.theory.divided_lists import DividedLists, low_threshold
from horizontal import binary, federation, train, view_of

NAMES = ("hospital", "clinic", "lab", "praxis", "ward")
TABLES = {name: binary(40 if name == "hospital" else 8, 3, seed) for seed, name in enumerate(NAMES)}
LOW = HorizontalLogisticSettings(
    rounds=8, batch_size=8, shuffled=("hospital",), recovery_threshold=3, colluders=0, confirm_senders=False
)
WARD = Secret(SecretKind.COLUMN_PRODUCTS, "ward")


def lied_to(settings, *, coalition=("hub", "hospital"), liar: DividedSenders | None = None):
    """The view of a coalition whose server tells lies that pay, or those of ``liar``."""
    honest = train(federation(TABLES, replace(settings, rounds=1)))
    informed = liar or DividedSenders().informed(view_of(honest, coalition, WARD).facts)
    result = train(federation(TABLES, settings), hooks=informed.hooks("hub"))
    return view_of(result, coalition, WARD), result


def updates_of(result, party: str) -> dict[int, np.ndarray]:
    return {r.round: r.value.values for r in result.locals[party] if r.name == "update"}


def means(result) -> list[np.ndarray]:
    return [m.payload.values for m in result.transcript.messages if m.step == "train.aggregate"]


@pytest.fixture(scope="module")
def low():
    return lied_to(LOW)


@pytest.mark.parametrize("victim", NAMES[1:])
def test_three_of_five_shares_and_one_colluder_open_everybody_bit_for_bit(low, victim):
    view, result = low
    opened = opened_updates(view, victim)
    expected = updates_of(result, victim)
    assert opened.keys() == expected.keys() == set(range(8))
    assert all(np.array_equal(opened[number], expected[number]) for number in expected)


def test_its_products_follow(low):
    view, result = low
    guess = Attack().run(view, rng=np.random.default_rng(0))
    assert guess.status is Status.RECOVERED
    assert np.array_equal(guess.values, result.truth.of(WARD).values)
    seen = view.facts.seen_by(view.coalition, Attack.requires)
    assert Attack.predict(seen).verdict is Verdict.UNKNOWN  # whether the models differ shows in the run


def test_nobody_notices(low):
    _, result = low
    assert np.array_equal(means(result), means(train(federation(TABLES, LOW))))


def test_without_a_colluder_the_same_threshold_holds():
    view, _ = lied_to(replace(LOW, rounds=2), coalition=("hub",))
    assert opened_updates(view, "ward") == {}
    guess = Attack().run(view, rng=np.random.default_rng(0))
    assert guess.status is Status.UNDETERMINED
    assert low_threshold(view.facts).state.name == "FAILS"
    assert DividedLists.if_fails(view.facts) is Verdict.IMPOSSIBLE


@pytest.mark.parametrize("changes", [{"recovery_threshold": 4, "colluders": 1}, {"confirm_senders": True}])
def test_a_lie_that_does_not_pay_is_not_told(changes):
    view, _ = lied_to(replace(LOW, rounds=2, **changes))
    assert {message.receiver for message in view.at(averaging.SENDERS)} == {"*"}
    assert opened_updates(view, "ward") == {}


def test_where_parties_confirm_lists_a_lie_ends_the_run():
    with pytest.raises(ProtocolError, match="the server told others another list"):
        lied_to(replace(LOW, rounds=2, confirm_senders=True), liar=DividedSenders(3, ("hospital",)))


def test_over_half_of_all_and_the_colluders_a_lie_opens_nothing():
    """Four of five: two groups of two, each with the colluder, are three; told all the same, they refuse."""
    with pytest.raises(ProtocolError, match="4 parties must send in a round"):
        lied_to(replace(LOW, rounds=2, recovery_threshold=4), liar=DividedSenders(3, ("hospital",)))
