"""``fedleak audit``."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer
from rich.console import Console

from fedleak.audit.planning import plan_audit
from fedleak.audit.runner import Audit, SinkFactory
from fedleak.audit.scenario_file import built_in_scenario, load_scenario
from fedleak.cli.bar import Bar
from fedleak.cli.output import write_json
from fedleak.core.errors import InputError
from fedleak.core.finding import Severity
from fedleak.core.report import Report
from fedleak.core.sink import Sink
from fedleak.core.storage import DiskSink
from fedleak.report import html, json_format, terminal
from fedleak.report.redaction import redact as redacted


def audit_command(scenario: Path | None, out: Path, json: str | None, fail_on: str, redact: bool) -> int:
    chosen = built_in_scenario() if scenario is None else load_scenario(scenario)
    planned = plan_audit(chosen)
    _make_folder(out)
    interrupted = False
    with Bar() as bar:
        audit = Audit(chosen, planned, _sinks(out), bar)
        try:
            audit.run()
        except KeyboardInterrupt:
            interrupted = True
    report = audit.report(unfinished="the audit was interrupted before it", command=_command(scenario))
    _deliver(redacted(report) if redact else report, out, json)
    if interrupted:
        typer.echo("fedleak: interrupted; the findings so far are in the report", err=True)
    if interrupted or audit.failed:
        return 3
    return int(fail_on != "never" and report.worst >= Severity[fail_on.upper()])


def _command(scenario: Path | None) -> str:
    return "fedleak audit" if scenario is None else f"fedleak audit {shlex.quote(str(scenario))}"


def _make_folder(out: Path) -> None:
    """Before the work, so that a wrong --out is told at once and not after a long run."""
    try:
        (out / "transcripts").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out must be a folder that can be written; got {out} ({error.strerror})") from error


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
        terminal.print_report(report, Console())
        typer.echo(
            f"\nReport: {out / 'report.html'}   JSON: {out / 'report.json'}   Transcripts: {out / 'transcripts'}"
        )
