"""docs/captures.md says what attacks read, as a trace of each of them shows, and the rest of it is as generated."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from harness import situation
from reading import noting, read_by

from fedleak.attacks import ATTACKS
from fedleak.auditing.captures_reference import captures_reference, names_read
from fedleak.core.attack import Attack

PAGE = Path(__file__).parents[2] / "docs" / "captures.md"
ROW = re.compile(r"^\| `([^`]+)` \| .* \| ([^|]*) \|$", re.MULTILINE)


def reads_of_page() -> dict[str, frozenset[str]]:
    """By attack, the steps and records whose rows name it."""
    found: dict[str, set[str]] = {name: set() for name in ATTACKS.names}
    text = PAGE.read_text(encoding="utf-8")
    for name, attacks in ROW.findall(text[text.index("## Steps") : text.index("## Public facts")]):
        for attack in attacks.split(", ") if attacks != "none" else ():
            found[attack].add(name)
    return {attack: frozenset(names) for attack, names in found.items()}


@pytest.mark.parametrize("name", ATTACKS.names)
def test_the_page_lists_what_the_attack_reads(name: str):
    read = names_read(read_by(name))
    assert read or name == "prediction-queries", "an attack that reads nothing of its view"
    assert reads_of_page()[name] == read, "run: python scripts/captures_page.py > docs/captures.md"


def test_the_rest_of_the_page_is_as_generated():
    assert PAGE.read_text(encoding="utf-8") == captures_reference(reads_of_page())


def test_reading_is_noted_and_looking_for_is_not():
    notes: set[str] = set()
    view = noting(situation("residual-sign").view(), notes)
    assert any(True for _ in view.records("weights"))
    assert notes == set()
    view.array("weights")
    assert notes == {"weights"}


def test_the_noted_view_gives_the_same_answer():
    case = situation("residual-sign")
    attack: type[Attack] = case.task.attack
    plain = attack().run(case.view(), rng=np.random.default_rng(0))
    noted = attack().run(noting(case.view(), set()), rng=np.random.default_rng(0))
    assert np.array_equal(plain.values, noted.values)
