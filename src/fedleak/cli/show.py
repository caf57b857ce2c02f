"""Commands that show what there is: ``fedleak list`` and ``fedleak report``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from fedleak.cli.console import plain_console
from fedleak.cli.output import write_json
from fedleak.core.version import __version__
from fedleak.core.visible_text import visible

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
    table = Table("name", "what it does", "needs", "from", box=None, pad_edge=False)
    if any(row["distribution"] for row in rows):
        table.add_column("distribution")
    for row in rows:
        table.add_row(*_cells(row, len(table.columns)))
    plain_console().print(table)


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


def report_command(source: Path, html: Path | None, redact: bool, verbose: bool) -> None:
    from fedleak.door.reports import load_report
    from fedleak.report import html as page
    from fedleak.report import json_format
    from fedleak.report.brief import print_brief
    from fedleak.report.terminal import print_report

    found = load_report(source)
    if redact:
        found = json_format.redact(found)
    (print_report if verbose else print_brief)(found, plain_console())
    if html is not None:
        page.write(found, html)
