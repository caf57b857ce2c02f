"""``fedleak calibrate``: how often the audit's decision cries wolf, and how often it finds what is there."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Group
from rich.table import Table

from fedleak.calibration.journal import Journal
from fedleak.calibration.result_json import calibration_json
from fedleak.calibration.suite import Wanted, calibrate
from fedleak.calibration.tally import Calibration, Tally, pooled
from fedleak.cli.bar import Bar
from fedleak.cli.console import plain_console
from fedleak.cli.output import check_json_target, write_json
from fedleak.core.errors import ExitCode


def calibrate_command(wanted: Wanted, json: str | None, out: Path | None, jobs: int) -> ExitCode:
    check_json_target(json)
    wanted.blocks()  # what cannot be measured is told before a journal is begun
    journal = Journal(out)
    with Bar() as bar:
        measured = calibrate(wanted, journal, bar, jobs=jobs)
    if json is not None:
        write_json(calibration_json(wanted, measured), json)
    found = measured.calibration
    if json != "-":
        plain_console().print(_tables(found))
        click.echo(f"{measured.seconds:.0f} s, {measured.cpu_seconds:.0f} s of CPU")
    for line in found.broken:
        click.echo(f"fedleak: over the limit: {line}", err=True)
    if not measured.complete:
        again = f"; go on with --out {out}" if out else ""
        click.echo(f"fedleak: interrupted; what was measured is kept{again}", err=True)
        return ExitCode.INTERRUPTED
    return ExitCode.FOUND if found.broken else ExitCode.DONE


def _tables(found: Calibration) -> Group:
    worst = {tally.attack: _worst(found, tally.attack) for tally in found.false_leaks}
    false = Table("attack", "false leaks", "95 %", "seeds", "answered", "worst cell", box=None, pad_edge=False)
    for tally in pooled(found.false_leaks):
        cell = worst[tally.attack]
        shown = f"{cell.share:.1%} {cell.table}, n = {cell.n}" if cell.leaks else ""
        false.add_row(tally.attack, *_figures(tally), str(tally.answered), shown)
    power = Table("attack", "found", "95 %", "seeds", "table", box=None, pad_edge=False)
    for tally in found.power:
        power.add_row(tally.attack, *_figures(tally), f"{tally.table}, n = {tally.n}")
    silent = [f"never answered, so that nothing is known of it: {', '.join(found.silent)}"] if found.silent else []
    return Group(false, "", power, *silent)


def _worst(found: Calibration, attack: str) -> Tally:
    return max((tally for tally in found.false_leaks if tally.attack == attack), key=lambda tally: tally.share)


def _figures(tally: Tally) -> tuple[str, str, str]:
    low, high = tally.ci
    return f"{tally.share:.1%}", f"{low:.1%} to {high:.1%}", str(tally.seeds)
