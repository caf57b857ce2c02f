"""What counts as a fault that was weathered."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import faults


def test_nothing_lost_nothing_left_and_a_code_that_tells() -> None:
    row = faults.Row("x", "y", 3, (0, 3), "", "8 of 8 findings", "nothing", "nothing")
    assert row.is_good
    assert not replace(row, exit_code=1).is_good
    assert not replace(row, lost="findings DIFFERS").is_good
    assert not replace(row, left=".report.partial").is_good


def test_no_fault_may_pass_for_a_finding() -> None:
    """Code 1 is a finding over --fail-on, which these audits do not ask for: a shell would take a crash for a leak."""
    assert all(1 not in expected for _, expected, _ in faults.FAULTS.values())


def test_a_moment_after_the_end_is_drawn_again(monkeypatch, tmp_path) -> None:
    """An audit that is over cannot lose anything, and would pass for one that was killed at its work."""
    codes = [0, 0, -9]
    place = type("At", (), {"folder": tmp_path})()

    def tried(at, number, rng):
        assert at is place
        assert 0 <= rng.random() < 1
        (tmp_path / f"moment-{number}").mkdir()
        return faults.Row("x", "y", codes.pop(0), faults.KILLED, "", "1 of 8 findings", "nothing", "nothing")

    monkeypatch.setattr(faults, "killed_at_random", tried)
    assert faults.killed_at_work(place, 3, Random(0)).is_good
    assert codes == []
