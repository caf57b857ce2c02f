"""Random scenarios in which a promise was broken once: each is kept as the file that showed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedleak.auditing.scenario_file import load_scenario
from fedleak.testing.claims import examine_scenario

FOUND = sorted(Path(__file__).with_name("found").glob("*.toml"))


@pytest.mark.filterwarnings("ignore")  # constant columns are among the cases
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_promises_are_kept_where_one_was_broken(path):
    scenario = load_scenario(path)
    found = examine_scenario(scenario, scenario.protocol, scenario.seed)
    assert not found.refused
    assert found.counts["run", "played"]
    assert not found.broken, "\n".join(map(str, found.broken))
