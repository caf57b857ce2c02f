"""``fedleak audit``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click

from fedleak.auditing.planner import plan_audit
from fedleak.auditing.runner import Audit, SinkFactory, still_unknown
from fedleak.auditing.scenario_file import built_in_scenario, load_scenario
from fedleak.cli.bar import Bar
from fedleak.cli.console import plain_console
from fedleak.cli.output import check_json_target, write_json
from fedleak.core.errors import ExitCode, InputError
from fedleak.core.finding import Outcome, Report, Severity
from fedleak.core.whole.randomness import RunKey
from fedleak.core.whole.run import Sink
from fedleak.report import html, json_format, terminal
from fedleak.report.json_format import redact as redacted
from fedleak.storage.capture_and_truth import DiskSink


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
    chosen = built_in_scenario() if scenario is None else load_scenario(scenario)
    check_json_target(json)
    planned = plan_audit(chosen)
    made = _make_folders(out)
    interrupted = False
    with Bar() as bar:
        audit = Audit(chosen, planned, _sinks(out), bar, run_key=key, isolated=not in_process)
        try:
            audit.run()
        except KeyboardInterrupt:
            interrupted = True
        except InputError:
            _remove_empty(made)
            raise
    report = audit.report(unfinished="the audit was interrupted before it", command=_command(scenario, audit.run_key))
    _deliver(redacted(report) if redact else report, out, json)
    if interrupted:
        click.echo("fedleak: interrupted; the findings so far are in the report", err=True)
        return ExitCode.INTERRUPTED
    return conclude(report, None if fail_on == "never" else Severity[fail_on.upper()])


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


def _make_folders(out: Path) -> list[Path]:
    """Before the work, so that a wrong --out is told at once and not after a long run. Returns what is new."""
    transcripts = out / "transcripts"
    try:
        new = [folder for folder in (transcripts, out) if not folder.exists()]
        transcripts.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out must be a folder that can be written; got {out} ({error.strerror})") from error
    if not os.access(out, os.W_OK) or not os.access(transcripts, os.W_OK):
        raise InputError(f"--out must be a folder that can be written; got {out} (Permission denied)")
    return new


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # it holds what an earlier run left
            folder.rmdir()


def _sinks(out: Path) -> SinkFactory:
    def sink_for(name: str) -> Sink:
        return DiskSink(out / "transcripts" / name, overwrite=True)

    return sink_for


def _deliver(report: Report, out: Path, json: str | None) -> None:
    html.write(report, out / "report.html")
    json_format.write(report, out / "report.json")
    if json is not None:
        write_json(json_format.to_json(report), json)
    if json != "-":
        terminal.print_report(report, plain_console())
        click.echo(
            f"\nReport: {out / 'report.html'}   JSON: {out / 'report.json'}   Transcripts: {out / 'transcripts'}"
        )
