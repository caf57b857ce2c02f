"""``fedleak audit``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click

from fedleak.attacks import ATTACKS
from fedleak.auditing.captured_audit import plan_captured
from fedleak.auditing.planner import PlannedRun, plan_audit
from fedleak.auditing.runner import Audit, SinkFactory, still_unknown
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import built_in_scenario, load_scenario
from fedleak.cli.bar import Bar
from fedleak.cli.console import plain_console
from fedleak.cli.output import check_json_target, write_json
from fedleak.core.errors import ExitCode, InputError
from fedleak.core.finding import Outcome, Report, Severity
from fedleak.core.whole.randomness import RunKey
from fedleak.core.whole.run import MemorySink, Sink
from fedleak.report import html, json_format, terminal
from fedleak.report.json_format import redact as redacted
from fedleak.storage.capture_and_truth import DiskSink


@dataclass(frozen=True)
class Source:
    """What is audited: a scenario, the built-in one if none is named, or a transcript."""

    scenario: Path | None = None
    transcript: Path | None = None
    truth: Path | None = None
    attacks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.transcript is not None and self.scenario is not None:
            raise InputError(
                f"--transcript must stand without a scenario; got {self.scenario} as well. A captured run is over: "
                "leave the scenario out"
            )
        if self.truth is not None and self.transcript is None:
            raise InputError("--truth must go with --transcript; a scenario brings its own data")

    def planned(self) -> tuple[Scenario, tuple[PlannedRun, ...], tuple[str, ...] | None]:
        if self.transcript is not None:
            found = plan_captured(self.transcript, self.truth, self.attacks)
            return found.scenario, found.runs, found.left_out
        chosen = built_in_scenario() if self.scenario is None else load_scenario(self.scenario)
        if self.attacks:
            only = tuple(ATTACKS.get(name).name for name in self.attacks)
            chosen = replace(chosen, adversaries=tuple(replace(one, attacks=only) for one in chosen.adversaries))
        return chosen, plan_audit(chosen), None

    def command(self, key: RunKey) -> str:
        """What gives the same findings again."""
        named: list[str] = [] if self.scenario is None else [str(self.scenario)]
        for option, path in (("--transcript", self.transcript), ("--truth", self.truth)):
            named += [] if path is None else [option, str(path)]
        named += [word for name in self.attacks for word in ("--attack", name)]
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
    check_json_target(json)
    chosen, planned, left_out = source.planned()
    made = _make_folders(out, transcripts=source.transcript is None)
    interrupted = False
    with Bar() as bar:
        sinks = _sinks(out) if source.transcript is None else lambda _: MemorySink()
        audit = Audit(chosen, planned, sinks, bar, run_key=key, isolated=not in_process, left_out=left_out)
        try:
            audit.run()
        except KeyboardInterrupt:
            interrupted = True
        except InputError:
            _remove_empty(made)
            raise
    report = audit.report(unfinished="the audit was interrupted before it", command=source.command(audit.run_key))
    _deliver(redacted(report) if redact else report, out, json, source.transcript or out / TRANSCRIPTS)
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


TRANSCRIPTS = "transcripts"


def _make_folders(out: Path, *, transcripts: bool) -> list[Path]:
    """Before the work, so that a wrong --out is told at once and not after a long run. Returns what is new."""
    wanted = [out / TRANSCRIPTS, out] if transcripts else [out]
    try:
        new = [folder for folder in wanted if not folder.exists()]
        wanted[0].mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out must be a folder that can be written; got {out} ({error.strerror})") from error
    if not all(os.access(folder, os.W_OK) for folder in wanted):
        raise InputError(f"--out must be a folder that can be written; got {out} (Permission denied)")
    return new


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # it holds what an earlier run left
            folder.rmdir()


def _sinks(out: Path) -> SinkFactory:
    def sink_for(name: str) -> Sink:
        return DiskSink(out / TRANSCRIPTS / name, overwrite=True)

    return sink_for


def _deliver(report: Report, out: Path, json: str | None, transcripts: Path) -> None:
    html.write(report, out / "report.html")
    json_format.write(report, out / "report.json")
    if json is not None:
        write_json(json_format.to_json(report), json)
    if json != "-":
        terminal.print_report(report, plain_console())
        click.echo(f"\nReport: {out / 'report.html'}   JSON: {out / 'report.json'}   Transcripts: {transcripts}")
