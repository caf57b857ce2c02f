"""What is started before an audit is planned: where a core is free, and nothing that the scenario has no use for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fedleak.auditing import runs_ahead
from fedleak.auditing.frames import FrameOptions
from fedleak.core.errors import InputError
from fedleak.door import early_start
from fedleak.door.audits import audit
from fedleak.door.early_start import started_early
from fedleak.door.given import GivenCapture, given
from fedleak.report.finding_journal import Order


class Noted:
    made: list[Noted]

    def __init__(self, *, loads: str) -> None:
        self.alive = True
        assert loads == runs_ahead.__name__
        self.made.append(self)

    def kill(self) -> None:
        self.alive = False

    def end(self) -> None:
        assert not self.alive


@pytest.fixture
def helpers(monkeypatch) -> list[Noted]:
    Noted.made = []
    monkeypatch.setattr(runs_ahead, "Helper", Noted)
    return Noted.made


@pytest.fixture
def servers(monkeypatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(early_start, "shared_isolation", lambda: found.append("started"))
    return found


@pytest.mark.parametrize(
    ("changes", "order", "n_helpers", "n_servers"),
    [
        ({}, Order(jobs=2), 1, 1),
        ({}, Order(jobs=8), 1, 1),  # one run beside the first
        ({}, Order(jobs=1), 0, 0),
        ({"cipher": "sealed"}, Order(jobs=2), 0, 1),
        ({}, Order(jobs=2, in_process=True), 1, 0),
    ],
)
def test_processes_are_started_where_a_core_is_free_for_them(helpers, servers, changes, order, n_helpers, n_servers):
    wanted = given(None, FrameOptions())
    scenario = replace(wanted.scenario, settings=replace(wanted.scenario.settings, **changes))
    with started_early(given(scenario, FrameOptions()), order):
        assert [helper.alive for helper in helpers] == [True] * n_helpers
    assert len(servers) == n_servers
    assert not any(helper.alive for helper in helpers)


def test_a_captured_run_needs_nobody_who_trains(helpers, servers):
    with started_early(GivenCapture(Path("captured")), Order(jobs=4)):
        assert helpers == servers == []


def test_an_audit_that_is_refused_leaves_no_process(helpers, servers, tmp_path):
    scenario = given(None, FrameOptions()).scenario
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="out must be a folder"):
        audit(scenario, jobs=2, out=tmp_path / "file")
    assert len(helpers) == len(servers) == 1
    assert not helpers[0].alive
