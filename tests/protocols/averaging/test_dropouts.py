"""A party is lost between masking and summation: a loud end without recovery, the right sum with it."""

from __future__ import annotations

import numpy as np
import pytest

from fedleak.attacks.binary.column_products import ColumnProducts
from fedleak.core.adversary import Secret
from fedleak.core.attack import Status, Verdict
from fedleak.core.errors import InputError, PlaintextRangeError, ProtocolError
from fedleak.core.steps import Role
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.run import MemorySink
from fedleak.protocols.actor import Actor, start_round
from fedleak.protocols.averaging.horizontal_training import HorizontalLogisticSettings, agree_on_masks
from fedleak.protocols.averaging.recovering_sum import RecoveringMasker, begin_round, check_threshold
from fedleak.protocols.averaging.secure_sum import Masker
from horizontal import binary, federation, train, view_of

TABLES = {"hospital": binary(12, 5, 1), "clinic": binary(7, 5, 2), "lab": binary(6, 5, 3)}


def trained(tables=None, **changes):
    settings = HorizontalLogisticSettings(**{"rounds": 3, "recovery_threshold": 2, "colluders": 0, **changes})
    return train(federation(tables or TABLES, settings))


def means(result) -> list[np.ndarray]:
    return [m.payload.values for m in result.transcript.messages if m.step == "train.aggregate"]


def updates_of(result, party: str) -> dict[int, np.ndarray]:
    return {r.round: r.value.values for r in result.locals[party] if r.name == "update"}


def test_without_recovery_a_lost_party_ends_the_run_by_name():
    with pytest.raises(ProtocolError, match="got none from clinic"):
        trained(recovery_threshold=0, dropouts=("clinic:1",))
    narrow = {name: rows[:, :1] for name, rows in TABLES.items()}
    with pytest.raises(ProtocolError, match="got none from clinic, lab"):
        trained(narrow, recovery_threshold=0, dropouts=("clinic:0", "lab:0"))


@pytest.mark.parametrize("dropouts", [(), ("clinic:1",), ("hospital:0", "lab:2")])
def test_with_recovery_the_mean_is_that_of_those_who_sent(dropouts):
    result = trained(dropouts=dropouts)
    found = {name: updates_of(result, name) for name in TABLES}
    for number, mean in enumerate(means(result)):
        sent = [found[name][number] for name in TABLES if number in found[name]]
        assert len(sent) == 3 - sum(entry.endswith(f":{number}") for entry in dropouts)
        np.testing.assert_allclose(mean, np.mean(sent, axis=0), atol=1e-11)


def test_keys_and_seeds_are_drawn_anew_in_every_round():
    """A key that is opened in one round would open the rounds before."""
    announced = [m.payload.items for m in trained().transcript.messages if m.step == "train.round-key"]
    assert len({each["key"].values.tobytes() for each in announced}) == 9
    assert len({each["commitment"].values.tobytes() for each in announced}) == 9


def test_recovery_changes_nothing_where_nobody_is_lost():
    np.testing.assert_allclose(means(trained()), means(trained(recovery_threshold=0)), atol=1e-12)


@pytest.mark.parametrize("threshold", [0, 3])
def test_an_update_over_its_share_of_the_range_ends_the_run(threshold):
    """One update alone is in range; four of them wrap, and their mean would come out small and wrong."""
    tables = {name: np.array([[1.4e6]]) for name in ("hospital", "clinic", "lab", "praxis")}
    with pytest.raises(PlaintextRangeError, match=r"4 parties at 40 fraction bits.*smaller learning rate"):
        trained(tables, learning_rate=4.0, initialisation="zero", recovery_threshold=threshold)
    assert means(trained(tables, learning_rate=1.0, initialisation="zero", rounds=1, recovery_threshold=threshold))


def test_too_few_senders_open_nothing():
    with pytest.raises(ProtocolError, match="2 parties must send in a round"):
        trained(dropouts=("clinic:1", "lab:1"))
    with pytest.raises(ProtocolError, match="got none"):
        trained(dropouts=("clinic:0", "lab:0", "hospital:0"))


def test_of_nobody_are_both_seed_and_key_opened():
    result = trained(dropouts=("clinic:1",))
    for message in result.transcript.messages:
        if message.step == "train.opened-shares":
            seeds, keys = message.payload.items["seeds"].items, message.payload.items["keys"].items
            assert not set(seeds) & set(keys)
            assert set(seeds) | set(keys) == set(TABLES)
            assert set(keys) == ({"clinic"} if message.round == 1 else set())


def begun() -> tuple[list[RecoveringMasker], Actor]:
    """A round in which all have dealt their shares."""
    sink = MemorySink()
    actors = [Actor(name, Role.ACTIVE, (), sink, Randomness.published(0)) for name in TABLES]
    server = Actor("hub", Role.SERVER, (), sink, Randomness.published(0))
    channels = [Masker(actor, 40) for actor in actors]
    agree_on_masks(channels)
    maskers = [RecoveringMasker(a, 40, 2, c.channels) for a, c in zip(actors, channels, strict=True)]
    start_round([*actors, server], 0)
    begin_round(maskers)
    return maskers, server


@pytest.mark.parametrize("senders", [("clinic", "nobody"), ("clinic", "clinic")])
def test_senders_that_are_not_there_do_not_count(senders):
    """Else a server that makes them up gets a victim's seed and everybody else's key, which is all of its mask."""
    maskers, _ = begun()
    with pytest.raises(ProtocolError, match="announced themselves, each once"):
        maskers[0].hear(senders)


def test_a_party_hears_one_list_of_senders_a_round():
    maskers, _ = begun()
    maskers[0].hear(("hospital", "clinic", "lab"))
    with pytest.raises(ProtocolError, match="one list of senders a round"):
        maskers[0].hear(("hospital", "clinic"))


def test_a_list_that_too_few_confirm_opens_nothing():
    """A tag is of one list, one pair and one round: neither another list's nor another party's will do."""
    maskers, server = begun()
    hospital, clinic, lab = maskers
    told = {"hospital": hospital.hear(("hospital", "clinic", "lab")), "clinic": clinic.hear(("clinic", "lab"))}
    with pytest.raises(ProtocolError, match="2 parties must confirm the list of senders that hospital heard; got 1"):
        hospital.open_shares(told, server)
    told["lab"] = lab.hear(("hospital", "lab", "clinic"))
    with pytest.raises(ProtocolError, match="that hospital heard; got 1"):
        hospital.open_shares({"clinic": told["lab"]}, server)
    assert set(hospital.open_shares(told, server).items["seeds"].items) == {"hospital", "clinic", "lab"}


@pytest.mark.parametrize(
    ("n", "colluders", "lowest"), [(3, 0, 2), (3, 1, 3), (5, 0, 3), (5, 1, 4), (50, 1, 26), (50, 16, 34)]
)
def test_the_threshold_is_over_half_of_all_and_the_colluders(n, colluders, lowest):
    check_threshold(lowest, n, colluders)
    assert 2 * lowest > n + colluders >= 2 * (lowest - 1)
    with pytest.raises(InputError, match=f"from {lowest} to {n} for {n} parties of which {colluders}"):
        check_threshold(lowest - 1, n, colluders)


def test_nobody_is_left_where_all_collude():
    with pytest.raises(InputError, match="colluders must be fewer"):
        check_threshold(3, 3, 3)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"recovery_threshold": 1}, "from 2 to 3 for 3 parties"),
        ({"recovery_threshold": 4}, "from 2 to 3 for 3 parties"),
        ({"recovery_threshold": -1}, "0 or more"),
        ({"colluders": 1}, "from 3 to 3 for 3 parties of which 1 may collude"),
        ({"colluders": -1}, "0 or more"),
        ({"dropouts": ("clinic",)}, "parties and rounds"),
        ({"dropouts": ("clinic:x",)}, "parties and rounds"),
        ({"dropouts": ("clinic:3",)}, "in rounds 0 to 2"),
        ({"dropouts": ("nobody:1",)}, "dropouts must name active parties"),
    ],
)
def test_wrong_settings_are_told(changes, says):
    with pytest.raises(InputError, match=says):
        trained(**changes)


def test_the_attack_leaves_out_rounds_in_which_a_victim_is_lost():
    tables = {"hospital": binary(40, 5, 1), "clinic": binary(8, 5, 2), "lab": binary(8, 5, 3)}
    settings = HorizontalLogisticSettings(
        rounds=20,
        batch_size=8,
        shuffled=("hospital",),
        recovery_threshold=2,
        colluders=0,
        dropouts=("clinic:3", "hospital:5"),
    )
    result = train(federation(tables, settings))
    view = view_of(result, ("hospital",), Secret(ColumnProducts.produces, "clinic+lab"))
    guess = ColumnProducts().run(view, rng=np.random.default_rng(0))
    assert guess.status is Status.RECOVERED
    assert guess.evidence["rounds a group"] == 19
    assert np.array_equal(guess.values, result.truth.of(view.target).values)
    prediction = ColumnProducts.predict(view.facts)
    assert prediction.verdict is Verdict.UNKNOWN
    assert not any("fails" in reason for reason in prediction.reasons)
