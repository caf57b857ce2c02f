"""Scenarios of networks: pictures come in shape, and attacks on pictures are planned for pictures alone."""

from __future__ import annotations

import pytest

from fedleak.auditing.declared_data import build_federation, sketch_facts
from fedleak.auditing.planner import targets
from fedleak.auditing.scenario_file import parse_scenario
from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.errors import InputError
from fedleak.core.facts import PartyFacts
from fedleak.core.steps import Role
from fedleak.protocols import PROTOCOLS
from fedleak.protocols.networks.vocabulary import NetworkFacts

SCENARIO = """
title = "digits"
[data]
source = "sklearn:digits"
task = "multiclass"
scaling = "pixels"
max_rows = 40
[federation]
protocol = "{protocol}"
batch_size = 8
rounds = 2
{settings}
{partition}
[[federation.parties]]
name = "left"
role = "active"
{left}
[[federation.parties]]
name = "right"
role = "{role}"
{right}
{server}
[[adversary]]
parties = ["left"]
"""
SERVER = '[[federation.parties]]\nname = "server"\nrole = "server"'
HALVES = '[federation.partition]\nby = "patches"\ngrid = [1, 2]'
ROWS = '[federation.partition]\nby = "rows"'
BOTTOM = 'bottom = ["flatten", "linear 4"]'


def scenario(protocol="vertical-network", settings=BOTTOM, server=SERVER):
    partition = {"partition": HALVES, "left": "patches = [1]", "right": "patches = [2]", "role": "passive"}
    if protocol == "horizontal-network":
        partition = {"partition": ROWS, "left": "share = 0.5", "right": "share = 0.5", "role": "active"}
    return parse_scenario(SCENARIO.format(protocol=protocol, settings=settings, server=server, **partition))


@pytest.mark.parametrize(
    ("protocol", "shape"),
    [("vertical-network", (8, 4, 1)), ("split-network", (8, 4, 1)), ("horizontal-network", (8, 8, 1))],
)
def test_pictures_come_in_shape(protocol, shape):
    settings = "" if protocol == "horizontal-network" else BOTTOM
    found = build_federation(scenario(protocol, settings, "" if protocol == "split-network" else SERVER))
    for party in found.parties[:2]:
        assert party.train.features.shape[1:] == shape
        assert party.train.features.max() == 1
        assert party.facts.pictures is True


def test_facts_are_known_with_and_without_data():
    asked = scenario()
    protocol = PROTOCOLS.get("vertical-network")
    facts = protocol.facts(asked.settings, sketch_facts(asked), None)
    assert facts.of(NetworkFacts).bottom == ("flatten", "linear 4")
    assert facts.of(NetworkFacts).n_classes is None
    assert facts.party("right").pictures is True
    federation = build_federation(asked)
    whole = protocol.public_facts(federation, parties=federation.party_facts, n_rows=federation.n_rows)
    assert whole.of(NetworkFacts).n_classes == 10


def test_who_holds_pictures_has_no_columns_to_find_and_the_other_way_round():
    known = {True: SecretKind.IMAGES, False: SecretKind.FEATURES}
    for pictures, kind in known.items():
        parties = (PartyFacts("a", Role.PASSIVE, 4, pictures=pictures), PartyFacts("server", Role.SERVER, 0))
        other = known[not pictures]
        assert targets(kind, parties, ("server",)) == [Secret(kind, "a")]
        assert targets(other, parties, ("server",)) == []
    unknown = (PartyFacts("a", Role.PASSIVE, 4), PartyFacts("server", Role.SERVER, 0))
    for kind in (*known.values(), SecretKind.RANGES):
        assert targets(kind, unknown, ("server",)) == [Secret(kind, "a")]


def test_a_layer_that_is_none_is_told_when_the_scenario_is_read():
    with pytest.raises(InputError, match="bottom, layer 1: a layer must be one of"):
        scenario(settings='bottom = ["dense 4"]')
