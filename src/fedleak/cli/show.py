"""Commands that show what there is: ``fedleak list`` and ``fedleak report``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from fedleak.cli.console import plain_console, table_console
from fedleak.cli.output import say, write_json
from fedleak.core.errors import ExitCode, InputError
from fedleak.core.report import Report
from fedleak.core.version import __version__
from fedleak.core.visible_text import visible

if TYPE_CHECKING:
    from fedleak.report.read_advice import Advised

# Imported one by one: a list of attacks needs nothing of the protocols.
REGISTRIES = {
    "attacks": "fedleak.attacks:ATTACKS",
    "defenses": "fedleak.defenses:DEFENSES",
    "deviations": "fedleak.deviations:DEVIATIONS",
    "metrics": "fedleak.metrics:METRICS",
    "papers": "fedleak.papers:EXPERIMENTS",
    "protocols": "fedleak.protocols:PROTOCOLS",
    "theorems": "fedleak.theory:THEOREMS",
}


def list_command(kind: str, json: str | None) -> None:
    registry = _registry(kind)
    rows = [_row(plugin, registry.distribution(plugin.name)) for plugin in registry]
    if json is not None:
        write_json({"kind": kind, "entries": rows}, json)
        if json == "-":
            return
    if not rows:
        click.echo(f"no {kind} yet")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True, min_width=max(len(visible(row["name"])) for row in rows))  # never cut
    for title in ("what it does", "needs", "from"):
        table.add_column(title)
    if any(row["distribution"] for row in rows):
        table.add_column("distribution")
    for row in rows:
        table.add_row(*_cells(row, len(table.columns)))
    table_console().print(table)


def _registry(kind: str) -> Any:
    module, _, name = REGISTRIES[kind].partition(":")
    return getattr(import_module(module), name)


def _cells(row: dict[str, Any], n_columns: int) -> list[str]:
    """A distribution is shown where somebody brought plug-ins of their own."""
    needs = "; ".join(row["requires"])
    found = [row["name"], row["summary"], needs, row["reference"], row["distribution"] or f"fedleak {__version__}"]
    return [visible(text) for text in found[:n_columns]]


def _row(plugin: Any, distribution: str) -> dict[str, Any]:
    reference = getattr(plugin, "reference", None)
    return {
        "name": plugin.name,
        "aliases": list(plugin.aliases),
        "summary": plugin.summary,
        "requires": sorted(capability.value for capability in getattr(plugin, "requires", ())),
        "reference": f"{reference.paper}, {reference.section}" if reference else "",
        "distribution": distribution,
    }


def diff_command(before: Path, after: Path, json: str | None) -> ExitCode:
    """1 where a leak opened or got worse; 4 where one that was there is not known to have closed."""
    from fedleak.door.reports import load_report
    from fedleak.report.difference import Change, difference

    found = difference(load_report(before), load_report(after))
    if json is not None:
        write_json(found.to_json(), json)
    if json != "-":
        say(found.in_words())
        for one in found.changes:
            say(f"  {one.change.value}: {one.words}")
        if found.warning:
            say(f"Note: {found.warning}.")
    if found.of(Change.OPENED) or found.of(Change.WORSE):
        return ExitCode.FOUND
    return ExitCode.INCONCLUSIVE if found.of(Change.UNKNOWN) else ExitCode.DONE


def report_command(
    source: Path,
    *,
    html: Path | None,
    advice: Path | None,
    form: str | None,
    to: Path | None,
    redact: bool,
    verbose: bool,
) -> None:
    from fedleak.door.reports import load_report
    from fedleak.report import html as page
    from fedleak.report import json_format
    from fedleak.report.brief import print_brief
    from fedleak.report.terminal import print_report

    found = load_report(source)
    recommended = None if advice is None else _advised(found, advice, html)
    if redact:
        found = json_format.redact(found)
    if form is not None:
        _write_text(_in_form(found, form), to)
    else:
        (print_report if verbose else print_brief)(found, plain_console())
    if html is not None:
        page.write(found, html, recommended)


def _advised(report: Report, path: Path, html: Path | None) -> Advised:
    from fedleak.advising.front_picture import advised
    from fedleak.advising.kept_advice import read_advice

    if html is None:
        raise InputError("--advice must go with --html: it has its place on the page")
    advice = read_advice(path)
    if advice.title != str(report.scenario.get("title", "")):
        raise InputError(f'--advice must be about "{report.title}", as the report is; got advice on "{advice.title}"')
    return advised(advice)


def _in_form(report: Report, form: str) -> str:
    from fedleak.report.annex import annex
    from fedleak.report.junit import junit_text
    from fedleak.report.sarif import sarif_text
    from fedleak.report.verdict_badge import badge

    return {"sarif": sarif_text, "junit": junit_text, "badge": badge, "annex": annex}[form](report)


def _write_text(text: str, to: Path | None) -> None:
    from fedleak.storage import file_writing

    if to is None:
        click.echo(text, nl=False)
    else:
        file_writing.write_text(to, text, private=True)
