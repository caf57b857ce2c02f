"""The page on costs is that of its result, has every attack, and every attack's page leads there."""

from __future__ import annotations

import json
from pathlib import Path

import attack_costs
from fedleak.attacks import ATTACKS

DOCS = Path(__file__).parents[2] / "docs"
RESULT = json.loads(attack_costs.RESULT.read_text(encoding="utf-8"))


def test_the_page_is_that_of_the_result():
    assert (DOCS / "attack_costs.md").read_text(encoding="utf-8") == attack_costs.page(RESULT["rows"])


def test_every_attack_was_measured_and_its_page_leads_there():
    assert {row["attack"] for row in RESULT["rows"]} == {attack.name for attack in ATTACKS.own}
    assert all(row["cpu_seconds"] is not None and row["learnt"] is not None for row in RESULT["rows"])
    for name in (attack.name for attack in ATTACKS.own):
        assert "](../attack_costs.md)" in (DOCS / "attacks" / f"{name}.md").read_text(encoding="utf-8")


def test_what_is_replaced_is_another_attack_on_the_same_secret():
    for ours, before in attack_costs.REPLACES.items():
        assert ATTACKS.get(ours).produces is ATTACKS.get(before).produces, (ours, before)
