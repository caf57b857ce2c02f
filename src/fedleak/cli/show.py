"""Commands that show what there is: ``fedleak list`` and ``fedleak report``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from fedleak.cli.output import plain_console, write_json
from fedleak.report import html as page
from fedleak.report import json_format, terminal
from fedleak.report.json_format import redact as redacted


def list_command(kind: str, json: str | None) -> None:
    rows = [_row(plugin) for plugin in _registry(kind)]
    if json is not None:
        write_json({"kind": kind, "entries": rows}, json)
        if json == "-":
            return
    if not rows:
        typer.echo(f"no {kind} yet")
        return
    table = Table("name", "what it does", "needs", "from", box=None, pad_edge=False)
    for row in rows:
        table.add_row(row["name"], row["summary"], "; ".join(row["requires"]), row["reference"])
    plain_console().print(table)


def _registry(kind: str) -> Any:
    from fedleak.attacks import ATTACKS
    from fedleak.defenses import DEFENSES
    from fedleak.deviations import DEVIATIONS
    from fedleak.metrics import METRICS
    from fedleak.papers import EXPERIMENTS
    from fedleak.protocols import PROTOCOLS
    from fedleak.theory import THEOREMS

    return {
        "attacks": ATTACKS,
        "defenses": DEFENSES,
        "deviations": DEVIATIONS,
        "metrics": METRICS,
        "papers": EXPERIMENTS,
        "protocols": PROTOCOLS,
        "theorems": THEOREMS,
    }[kind]


def _row(plugin: Any) -> dict[str, Any]:
    reference = getattr(plugin, "reference", None)
    return {
        "name": plugin.name,
        "aliases": list(plugin.aliases),
        "summary": plugin.summary,
        "requires": sorted(capability.value for capability in getattr(plugin, "requires", ())),
        "reference": f"{reference.paper}, {reference.section}" if reference else "",
    }


def report_command(source: Path, html: Path | None, redact: bool) -> None:
    found = json_format.read(source)
    if redact:
        found = redacted(found)
    terminal.print_report(found, plain_console())
    if html is not None:
        page.write(found, html)
