"""``fedleak audit``: run everything, print the table, write the reports."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from fedleak.cli.bar import Bar
from fedleak.cli.console import plain_console
from fedleak.cli.output import check_json_target, write_json
from fedleak.core.errors import ExitCode, InputError
from fedleak.core.finding import Outcome, Severity
from fedleak.core.report import Report
from fedleak.core.whole.randomness import RunKey
from fedleak.door.audits import PAGE, TRANSCRIPTS, carry_out
from fedleak.door.frames import FrameOptions
from fedleak.door.given import Given, GivenCapture, given, is_gradient
from fedleak.door.reports import REPORT
from fedleak.report import json_format, terminal


@dataclass(frozen=True)
class Source:
    """What is audited: a scenario, the built-in one if none is named, or a transcript."""

    scenario: Path | None = None
    transcript: Path | None = None
    truth: Path | None = None
    attacks: tuple[str, ...] = ()
    repeats: int | None = None

    def given(self) -> Given | GivenCapture:
        if self.transcript is None and is_gradient(self.scenario):
            return GivenCapture(Path(self.scenario), self.truth, self.attacks)
        if self.transcript is None and self.truth is not None:
            raise InputError("--truth must go with --transcript, or with a gradient; a scenario brings its own data")
        if self.transcript is None:
            return given(self.scenario, FrameOptions(), attacks=self.attacks or None)
        if self.scenario is not None:
            raise InputError(
                f"--transcript must stand without a scenario; got {self.scenario} as well. A captured run is over: "
                "leave the scenario out"
            )
        return GivenCapture(self.transcript, self.truth, self.attacks)

    def command(self, key: RunKey) -> str:
        """What gives the same findings again."""
        named: list[str] = [] if self.scenario is None else [str(self.scenario)]
        for option, path in (("--transcript", self.transcript), ("--truth", self.truth)):
            named += [] if path is None else [option, str(path)]
        named += [word for name in self.attacks for word in ("--attack", name)]
        named += [] if self.repeats is None else ["--repeats", str(self.repeats)]
        return shlex.join(["fedleak", "audit", *named, "--run-key", str(key)])


def audit_command(
    source: Source,
    out: Path,
    json: str | None,
    fail_on: str,
    redact: bool,
    run_key: str | None,
    in_process: bool,
) -> ExitCode:
    key = None if run_key is None else RunKey.from_text(run_key)
    wanted = source.given()
    check_json_target(json)
    with Bar() as bar:
        carried = carry_out(
            wanted,
            key=key,
            repeats=source.repeats,
            in_process=in_process,
            out=out,
            redact=redact,
            progress=bar,
            command=source.command,
        )
    _deliver(carried.report, out, json, source.transcript or out / TRANSCRIPTS)
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
    missing = () if fail_on is None else report.conclusion.missing
    if not missing:
        return ExitCode.DONE
    click.echo(f"fedleak: inconclusive under --fail-on: {'; '.join(missing)}", err=True)
    return ExitCode.INCONCLUSIVE


def _deliver(report: Report, out: Path, json: str | None, transcripts: Path) -> None:
    if json is not None:
        write_json(json_format.to_json(report), json)
    if json != "-":
        terminal.print_report(report, plain_console())
        click.echo(f"\nReport: {out / PAGE}   JSON: {out / REPORT}   Transcripts: {transcripts}")
