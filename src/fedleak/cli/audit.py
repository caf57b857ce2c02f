"""``fedleak audit``: run everything, print the table, write the reports."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import click

from fedleak.auditing.changed_scenario import changed
from fedleak.auditing.frames import FrameOptions
from fedleak.auditing.own_table import Draft, Wishes, draft_text, drafted
from fedleak.auditing.served_file import drafted_model
from fedleak.auditing.time_left import TIME_SPENT
from fedleak.cli.bar import Bar
from fedleak.cli.console import plain_console
from fedleak.cli.key_warning import warn_of_short_key
from fedleak.cli.output import check_json_target, say, write_json
from fedleak.cli.signals import exit_code
from fedleak.core.errors import ExitCode, InputError
from fedleak.core.finding import Outcome, Severity
from fedleak.core.report import Report
from fedleak.core.whole.randomness import RunKey
from fedleak.data.sources.catalogue import SUFFIXES
from fedleak.door.audit_folder import DRAFTED
from fedleak.door.audits import carry_out
from fedleak.door.given import Given, GivenCapture, given, is_gradient
from fedleak.door.reports import PAGE, REPORT
from fedleak.models.model_files import is_model_file
from fedleak.report import json_format
from fedleak.report.brief import print_brief
from fedleak.report.finding_journal import JOURNAL, Order, not_written, recall
from fedleak.report.terminal import print_report
from fedleak.storage.file_writing import write_text
from fedleak.trial.blas_memory import settle_blas_memory

MB = 1_000_000
SCHEMES = ("sklearn:", "openml:")


def given_by(order: Order, draft: Draft | None) -> Given | GivenCapture:
    """What is audited: a scenario, the built-in one if none is named, a table, or a transcript."""
    scenario = order.place(order.scenario)
    if draft is not None:
        return given(draft.scenario, FrameOptions(), attacks=order.attacks or None)
    if order.transcript is None and scenario is not None and (is_gradient(scenario) or scenario.is_dir()):
        return _captured(scenario, order)
    if order.transcript is None and (order.truth is not None or order.coalitions):
        named = "--coalition" if order.truth is None else "--truth"
        raise InputError(f"{named} must go with a captured run or a gradient; a scenario brings its own data")
    if order.transcript is None:
        return given(scenario, FrameOptions(), attacks=order.attacks or None)
    if order.scenario is not None:
        raise InputError(
            f"--transcript must stand without a scenario; got {order.scenario} as well. A captured run is over: "
            "leave the scenario out"
        )
    transcript = order.place(order.transcript)
    assert transcript is not None
    return _captured(transcript, order)


def _captured(transcript: Path, order: Order) -> GivenCapture:
    together = tuple(tuple(name.strip() for name in one.split(",")) for one in order.coalitions)
    return GivenCapture(transcript, order.place(order.truth), order.attacks, together)


def _draft(order: Order) -> Draft | None:
    """The scenario that is made of a table, and what was decided for whoever gave it."""
    if order.wishes is None or order.scenario is None:
        return None
    make = drafted_model if is_model(order.place(order.scenario)) else drafted
    draft = make(order.scenario, order.wishes, Path(order.folder), all_rows=order.budget is not None)
    for remark in draft.remarks:
        say(f"fedleak: {remark}", err=True)
    return draft


def is_model(source: Path | None) -> bool:
    """A file with a model in it; tables are told by their names."""
    named_table = source is not None and str(source).endswith(SUFFIXES) and not is_gradient(source)
    return source is not None and not named_table and source.suffix != ".toml" and is_model_file(source)


def wishes_about(source: Path | None, wishes: Wishes) -> Wishes | None:
    """None where a scenario is audited, or what is captured: neither has anything left to wish for but settings."""
    if source is None or source.suffix == ".toml" or (source.is_dir() and not wishes.words):
        wishes = replace(wishes, settings=())
        if wishes.words:
            raise InputError(
                f"{', '.join(word for word in wishes.words if word.startswith('--'))} must go with a table, such as "
                f"customers.csv, or a model file; got {source or 'none'}. A scenario says it itself"
            )
        return None
    is_table = str(source).endswith(SUFFIXES) and not is_gradient(source)
    return wishes if wishes.words or is_table or is_model(source) or str(source).startswith(SCHEMES) else None


def command_of(order: Order, key: RunKey) -> str:
    """What gives the same findings again."""
    named: list[str] = [] if order.scenario is None else [order.scenario]
    named += [] if order.wishes is None else order.wishes.words
    for option, value in (
        ("--transcript", order.transcript),
        ("--truth", order.truth),
        ("--repeats", order.repeats),
        ("--attack-timeout", order.attack_seconds),
        ("--attack-memory", None if order.attack_bytes is None else order.attack_bytes // MB),
    ):
        named += [] if value is None else [option, f"{value:g}" if isinstance(value, float) else str(value)]
    # what the time made smaller, in its place: another machine would choose otherwise
    named += [word for text in order.changed for word in ("--set", text)]
    named += [word for names in order.coalitions for word in ("--coalition", names)]
    named += [word for name in order.attacks for word in ("--attack", name)]
    return shlex.join(["fedleak", "audit", *named, "--run-key", str(key)])


def refuse_beside_resume(context: click.Context) -> None:
    """What was asked stands in the journal; only what is made of the findings can be chosen anew."""
    given = click.core.ParameterSource.COMMANDLINE
    beside = [name for name in context.params if context.get_parameter_source(name) is given]
    wrong = sorted(name for name in beside if name not in ("resume", "json", "fail_on", "verbose"))
    if wrong:
        named = ", ".join(wrong).replace("_", "-")
        raise click.UsageError(
            f"--resume must stand with --json, --fail-on and --verbose alone; got {named} as well", context
        )


def begun_order(out: Path) -> tuple[Order, RunKey]:
    """What the audit that wrote this folder was asked for, and its key."""
    path = out / JOURNAL
    if not path.exists():
        raise InputError(f"--resume must name the folder of an audit, with its {JOURNAL}; got {out}, which has none")
    found = recall(path).began
    if not found.order.by_command:
        raise InputError(
            f"--resume must name an audit that the command line began; {out} was begun by Python code. "
            f'Call fedleak.audit there again, with run_key="{found.run_key}"'
        )
    return found.order, RunKey.from_text(found.run_key)


@dataclass(frozen=True, kw_only=True)
class Telling:
    """What is made of the findings; of an audit that is resumed something else may be wanted than of the first part."""

    json: str | None = None
    fail_on: str = "never"
    verbose: bool = False


def audit_command(order: Order, out: Path, told: Telling, key: RunKey | None, *, resumed: bool = False) -> ExitCode:
    settle_blas_memory()
    draft = _draft(order)
    wanted = given_by(order, draft)
    if isinstance(wanted, Given):
        warn_of_short_key(wanted.scenario.settings)
    check_json_target(told.json)
    with Bar() as bar:
        carried = carry_out(
            wanted,
            replace(order, folder=order.folder or os.getcwd()),
            key=key,
            out=out,
            progress=bar,
            command=lambda drawn, fitted: command_of(fitted, drawn),
            resumed=resumed,
        )
    held = _held(order, captured=isinstance(wanted, GivenCapture))
    _deliver(carried.report, out, told, held)
    if carried.failed is not None:
        raise carried.failed
    if draft is not None and told.json != "-":
        _keep_draft(_as_audited(draft, carried.order), out)
    if carried.interrupted is not None:
        say(f"fedleak: interrupted; the findings so far are in the report; {_go_on(out)}", err=True)
        return exit_code(carried.interrupted)
    if carried.is_late:
        say(f"fedleak: {TIME_SPENT}, and not everything was tried; {_go_on(out)}", err=True)
    return conclude(carried.report, None if told.fail_on == "never" else Severity[told.fail_on.upper()])


def _keep_draft(draft: Draft, out: Path) -> None:
    path = out / DRAFTED
    try:
        write_text(path, draft_text(draft, out))
    except InputError as error:
        raise not_written(path, error.__cause__ or error) from error
    say(f"Its scenario, to change and audit again, and to give to fedleak advise: {path}")


def _as_audited(draft: Draft, order: Order) -> Draft:
    """With what was made smaller to fit a time."""
    scenario = changed(draft.scenario, order.changed)
    return replace(draft, scenario=scenario, remarks=(*draft.remarks, *order.reduced))


def _go_on(out: Path) -> str:
    return f"go on with: {shlex.join(['fedleak', 'audit', '--resume', str(out)])}"


def conclude(report: Report, fail_on: Severity | None) -> ExitCode:
    """The exit code of a whole audit: a finding counts also where something else failed."""
    if fail_on is not None and report.worst >= fail_on:
        return ExitCode.FOUND
    if any(finding.outcome is Outcome.ERRORED for finding in report.findings):
        return ExitCode.FAILED
    missing = () if fail_on is None else report.conclusion.missing
    if not missing:
        return ExitCode.DONE
    say(f"fedleak: inconclusive under --fail-on: {'; '.join(missing)}", err=True)
    return ExitCode.INCONCLUSIVE


def _deliver(report: Report, out: Path, told: Telling, held: str) -> None:
    if told.json is not None:
        write_json(json_format.to_json(report), told.json, private=True)
    if told.json != "-":
        (print_report if told.verbose else print_brief)(report, plain_console())
        kept = [out / name for name in (PAGE, REPORT) if (out / name).exists()]  # a disk may have no room for them
        say(f"\nReport: {kept[0]}" + "".join(f" (and {other.name})" for other in kept[1:]) if kept else "")
        say(f"This folder holds {held}: keep it as you keep the data")


def _held(order: Order, *, captured: bool) -> str:
    """What a folder of an audit has in it that nobody else may see. A captured run stays where it was."""
    values = "no true values in its reports," if order.redact else "true values,"
    if captured:
        return f"{values} and the run's key"
    keys = "private keys included" if order.keep_keys else "private keys left out (--keep-keys keeps them)"
    return f"{values} the run's key, and what every party had, {keys}"
