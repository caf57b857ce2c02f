"""``fedleak audit``."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from fedleak.auditing.runner import still_unknown
from fedleak.cli.bar import Bar
from fedleak.cli.console import plain_console
from fedleak.cli.output import check_json_target, write_json
from fedleak.core.errors import ExitCode
from fedleak.core.finding import Outcome, Report, Severity
from fedleak.core.whole.randomness import RunKey
from fedleak.door.audits import PAGE, TRANSCRIPTS, carry_out
from fedleak.door.frames import FrameOptions
from fedleak.door.given import given
from fedleak.door.reports import REPORT
from fedleak.report import json_format, terminal


def audit_command(
    scenario: Path | None,
    out: Path,
    json: str | None,
    fail_on: str,
    redact: bool,
    run_key: str | None,
    in_process: bool,
) -> ExitCode:
    key = None if run_key is None else RunKey.from_text(run_key)
    wanted = given(scenario, FrameOptions())
    check_json_target(json)
    with Bar() as bar:
        carried = carry_out(
            wanted,
            key=key,
            in_process=in_process,
            out=out,
            redact=redact,
            progress=bar,
            command=lambda drawn: _command(scenario, drawn),
        )
    _deliver(carried.report, out, json)
    if carried.interrupted:
        click.echo("fedleak: interrupted; the findings so far are in the report", err=True)
        return ExitCode.INTERRUPTED
    return conclude(carried.report, None if fail_on == "never" else Severity[fail_on.upper()])


def conclude(report: Report, fail_on: Severity | None) -> ExitCode:
    """The exit code of a whole audit: a finding counts also where something else failed."""
    if fail_on is not None and report.worst >= fail_on:
        return ExitCode.FOUND
    if any(finding.outcome is Outcome.ERRORED for finding in report.findings):
        return ExitCode.FAILED
    unknown = None if fail_on is None else still_unknown(report)
    if unknown is None:
        return ExitCode.DONE
    click.echo(f"fedleak: inconclusive under --fail-on: {unknown}", err=True)
    return ExitCode.INCONCLUSIVE


def _command(scenario: Path | None, key: RunKey) -> str:
    """What gives the same findings again."""
    named = () if scenario is None else (str(scenario),)
    return shlex.join(["fedleak", "audit", *named, "--run-key", str(key)])


def _deliver(report: Report, out: Path, json: str | None) -> None:
    if json is not None:
        write_json(json_format.to_json(report), json)
    if json != "-":
        terminal.print_report(report, plain_console())
        click.echo(f"\nReport: {out / PAGE}   JSON: {out / REPORT}   Transcripts: {out / TRANSCRIPTS}")
