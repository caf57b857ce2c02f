"""What ``check`` and attacks promise, held against what happens in random scenarios; ``make nightly`` tries 500."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedleak.auditing.scenario_file import load_scenario
from fedleak.core.attack import Verdict
from fedleak.testing import claims
from fedleak.testing.claims import examine
from fedleak.testing.random_scenarios import PROTOCOLS, TABLE, random_scenario
from random_cases import seeds

FIRST = 5000  # of the seeds that are tried here


@pytest.mark.filterwarnings("ignore")  # constant columns and trainings that diverge are among the cases
@pytest.mark.parametrize("seed", seeds(50))
def test_promises_are_kept(seed):
    drawn = random_scenario(FIRST + seed)
    broken = examine(drawn).broken
    assert not broken, "\n".join([*map(str, broken), "", str(drawn)])


def test_all_protocols_are_among_them():
    assert {random_scenario(FIRST + seed).protocol for seed in range(50)} == set(PROTOCOLS)


def test_what_is_printed_is_the_scenario(tmp_path):
    drawn = random_scenario(FIRST)
    (tmp_path / TABLE).write_text("\n".join(line[4:] for line in str(drawn).splitlines() if line.startswith("#   ")))
    (tmp_path / "again.toml").write_text(str(drawn))
    assert (tmp_path / TABLE).read_text().strip() == drawn.table.strip()
    assert load_scenario(Path(tmp_path / "again.toml")).title == f"random scenario {FIRST}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("verdict", "claim"), [(Verdict.EXACT, "wrong exact"), (Verdict.IMPOSSIBLE, "wrong impossible")]
)
def test_a_promise_that_is_broken_is_found(monkeypatch, verdict, claim):
    """Theory that says the same of everything is caught."""
    known = claims._unkept

    def says(run, task, attempt, _verdicts, runs):
        return known(run, task, attempt, {verdict}, runs)

    monkeypatch.setattr(claims, "_unkept", says)
    found = [broken.claim for seed in range(4) for broken in examine(random_scenario(FIRST + seed)).broken]
    assert claim in found
