"""What a protocol may ever reveal covers what it does reveal, to every coalition and under varied settings."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import combinations

import pytest

from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Capability
from fedleak.core.errors import InputError
from fedleak.core.facts import PartyFacts
from fedleak.core.steps import DATA_ROLES
from fedleak.protocols import PROTOCOLS


def varied_settings(protocol):
    """The default, and every single change to a switch, a choice, or a number that is 0 where it is off, that the
    settings accept."""
    default = protocol.settings_type()
    yield default
    for field in fields(default):
        value = getattr(default, field.name)
        options = [not value] if isinstance(value, bool) else field.metadata.get("choices", ())
        if value == 0 and type(value) is int:
            options = [2]
        for option in options:
            try:
                yield replace(default, **{field.name: option})
            except InputError:
                continue


def coalitions(protocol):
    parties = tuple(PartyFacts(f"{role}-{i}", role, 3) for role in sorted(protocol.roles) for i in range(2))
    parties = tuple(party for party in parties if party.role in DATA_ROLES or party.name.endswith("0"))
    names = [party.name for party in parties]
    return parties, [chosen for size in range(1, len(names)) for chosen in combinations(names, size)]


@pytest.mark.parametrize("protocol", PROTOCOLS.own, ids=lambda plugin: plugin.name)
def test_nothing_is_revealed_beyond_what_may_be(protocol):
    parties, groups = coalitions(protocol)
    seen: frozenset[Capability] = frozenset()
    for settings in varied_settings(protocol):
        for coalition in groups:
            seen |= protocol.reveals(settings, parties, coalition)
    assert seen <= protocol.may_reveal
    if protocol.may_reveal != frozenset(Capability):
        assert seen == protocol.may_reveal, "what can never be seen hides that an attack is for another protocol"


@pytest.mark.parametrize("attack", ATTACKS.own, ids=lambda plugin: plugin.name)
def test_every_attack_is_for_some_protocol(attack):
    of_knowledge = {Capability.KNOWN_CELLS, Capability.KNOWN_LABELS, Capability.PUBLIC_SAMPLE}
    assert any(attack.requires - of_knowledge <= protocol.may_reveal for protocol in PROTOCOLS.own)
