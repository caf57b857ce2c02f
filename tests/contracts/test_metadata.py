"""Every plug-in carries what lists, docs and planner need."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedleak.attacks import ATTACKS
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS
from fedleak.testing.contracts import NOTHING_KNOWN, check_metadata, check_pickles
from fedleak.theory import THEOREMS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("attack", ATTACKS.own, ids=lambda plugin: plugin.name)
def test_attack(attack):
    check_metadata(attack)
    check_pickles(attack)
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
    assessment = theorem.assess(NOTHING_KNOWN.seen_by(("fintech",), None))
    assert assessment.conditions
    assert assessment.state.value != "holds"
