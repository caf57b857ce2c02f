"""Limits of an attempt, from the command line: one that passes them is a finding, and the exit code says so."""

from __future__ import annotations

from click.testing import CliRunner

import fedleak
from fedleak.calibration.control_runs import CONTROLS
from fedleak.cli.main import app
from fedleak.core.errors import ExitCode
from fedleak.core.finding import Outcome


def test_an_attempt_that_takes_too_long_is_a_finding(tmp_path) -> None:
    scenario = str(CONTROLS / "residual-sign.toml")
    options = ["--out", str(tmp_path), "--repeats", "1", "--attack-timeout", "0.001"]
    done = CliRunner().invoke(app, ["audit", scenario, *options], standalone_mode=False)
    (finding,) = fedleak.load_report(tmp_path).findings
    assert finding.outcome is Outcome.ERRORED
    assert finding.why == "it took longer than the 0.001 s that it was given"
    assert done.return_value is ExitCode.FAILED
