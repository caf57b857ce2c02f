"""More data than a process may hold go to disk, through a view, and into the process of an attack."""

from __future__ import annotations

import json
import tempfile

import pytest

from fedleak.bench import stream_bench as bench
from fedleak.core.errors import MissingExtraError, RunError
from fedleak.trial.isolation import can_isolate

N_MESSAGES = 150  # 450 MB, and more than the 128 MiB that would be sent through a pipe
MOST_MB = 200  # of which an interpreter with numpy and the package takes about 40

pytestmark = pytest.mark.skipif(not can_isolate(), reason="needs /proc, fork and pidfd")


def test_no_process_holds_what_passes_through_it(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # here
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # and in the processes of the stages
    result = bench.measure(n_messages=N_MESSAGES)
    sides = result["sides"]
    assert sides["data"] == {"messages": N_MESSAGES, "mb": 3.0 * N_MESSAGES}
    peaks = {(stage, name): mb for stage in bench.STAGES for name, mb in sides[stage].items() if "peak_mb" in name}
    assert len(peaks) == 5
    assert max(peaks.values()) < MOST_MB < 3 * N_MESSAGES / 2, peaks
    assert min(peaks.values()) > 10  # else nothing was measured
    assert result["attempted_ratio"] == pytest.approx(
        3 * N_MESSAGES / max(mb for (stage, _), mb in peaks.items() if stage == "attempted")
    )
    json.dumps(result, allow_nan=False)
    assert list(tmp_path.iterdir()) == []  # neither the run nor the copy of the view is left


def test_stages_that_read_different_numbers_are_no_result(monkeypatch):
    def shifted(stage, _, count):
        return bench.Took(bench.Tally(count, 3, 1.0 if stage is bench._viewed else 2.0), 1.0, 1.0, {"own": 1})

    monkeypatch.setattr(bench, "_in_fresh_process", shifted)
    with pytest.raises(RunError, match="all stages must have read the same numbers"):
        bench.measure(n_messages=1)


def test_a_disk_that_is_too_small_is_told_before_anything_is_written():
    with pytest.raises(RunError, match=r"must have 6600000000 MB free; got \d+\. Set TMPDIR"):
        bench.measure(n_messages=1_000_000_000)


def test_a_system_that_does_not_tell_peaks_is_told(monkeypatch):
    monkeypatch.setattr(bench, "can_isolate", lambda: False)
    with pytest.raises(MissingExtraError, match="Linux"):
        bench.measure(quick=True)
