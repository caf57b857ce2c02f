"""What counts as a fault that was weathered."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from types import SimpleNamespace

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


def test_a_moment_at_which_nothing_is_left_to_find_is_drawn_again(monkeypatch, tmp_path) -> None:
    """An audit that is over cannot lose anything, and would pass for one that was killed at its work."""
    moments = [(0, 3), (-9, 3), (-9, 2)]  # exit code, lines of three that are in the journal

    def killed(place, out, rng):
        code, n_lines = moments.pop(0)
        (place.folder / out).mkdir()
        (place.folder / out / "journal.jsonl").write_text("line\n" * n_lines)
        return f"draw {rng.random() < 1}", code

    monkeypatch.setattr(faults, "killed_at_random", killed)
    monkeypatch.setattr(faults, "_row", lambda place, *told: told)
    place = SimpleNamespace(folder=tmp_path, journal=b"line\n" * 3)
    told = faults.killed_at_work(place, 3, Random(0))
    assert told == ("moment-3", "killed at a random moment, 4", "draw True", -9, faults.KILLED, "")
    assert moments == []
