"""Every plug-in carries what lists, docs and planner need."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedleak.attacks import ATTACKS
from fedleak.core.adversary import Capability
from fedleak.core.facts import Facts, PartyFacts
from fedleak.core.steps import Role
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS
from fedleak.theory import THEOREMS

DOCS = Path(__file__).parents[2] / "docs"
EMPTY = Facts("unknown", (PartyFacts("bank", Role.ACTIVE), PartyFacts("fintech", Role.PASSIVE)))


@pytest.mark.parametrize("attack", ATTACKS.own, ids=lambda plugin: plugin.name)
def test_attack(attack):
    assert attack.name == attack.name.lower().replace(" ", "-")
    assert attack.summary
    assert attack.requires <= frozenset(Capability)
    assert attack.predict(EMPTY.seen_by(("fintech",), None)).reasons, "a prediction gives its reasons"
    assert (DOCS / "attacks" / f"{attack.name}.md").is_file(), f"write docs/attacks/{attack.name}.md"


@pytest.mark.parametrize("defense", DEFENSES.own, ids=lambda plugin: plugin.name)
def test_defense(defense):
    assert defense.changes or defense.acts_at, "a defense changes settings or acts at steps"
    assert (DOCS / "defenses" / f"{defense.name}.md").is_file(), f"write docs/defenses/{defense.name}.md"


@pytest.mark.parametrize("protocol", PROTOCOLS.own, ids=lambda plugin: plugin.name)
def test_protocol(protocol):
    assert protocol.roles
    assert (DOCS / "protocols" / f"{protocol.name}.md").is_file(), f"write docs/protocols/{protocol.name}.md"


@pytest.mark.parametrize("theorem", list(THEOREMS), ids=lambda plugin: plugin.name)
def test_theorem_without_facts_is_unknown_never_true(theorem):
    assessment = theorem.assess(EMPTY.seen_by(("fintech",), None))
    assert assessment.conditions
    assert assessment.state.value != "holds"
