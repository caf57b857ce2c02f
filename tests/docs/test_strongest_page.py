"""The page on defenses names, for every one of them, the attack that comes furthest when it knows what is declared."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import strongest_attacks
from fedleak.attacks import ATTACKS
from fedleak.defenses import DEFENSES

PAGE = Path(__file__).parents[2] / "docs" / "strongest.md"
ROW = re.compile(r"^\| \[([\w-]+)\]\(defenses/[\w-]+\.md\), [\w -]+ \| (.*) \|$", re.MULTILINE)
NAMED = re.compile(r"(?:^|; )([\w ]+): \[([\w-]+)\]")


def rows() -> dict[str, str]:
    return dict(ROW.findall(PAGE.read_text(encoding="utf-8")))


def test_every_defense_has_its_row_and_every_attack_exists() -> None:
    assert list(rows()) == [defense.name for defense in DEFENSES.own]
    named = {attack for row in rows().values() for _, attack in NAMED.findall(row)}
    assert named <= set(ATTACKS.names)
    assert all(NAMED.search(row) or row == "nothing above a guess" for row in rows().values())


@pytest.mark.parametrize("name", ["rounding", "hidden-model", "large-initialisation"])
def test_a_row_is_what_is_measured(name: str) -> None:
    """Names alone: last digits are the machine's."""
    defense = DEFENSES.get(name)()
    _, scenario = strongest_attacks.scenario_for(defense)
    found = strongest_attacks.strongest(scenario, defense)
    assert [(one.secret, one.attack) for one in found] == NAMED.findall(rows()[name])


def test_left_out_are_attacks_that_there_are() -> None:
    assert set(ATTACKS.names) >= strongest_attacks.LEFT_OUT
