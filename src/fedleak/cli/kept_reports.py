"""Commands on reports that audits wrote: ``fedleak report``, ``fedleak diff`` and ``fedleak ledger``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from fedleak.cli.shared_options import PATH, json_option, verbose_option
from fedleak.core.errors import ExitCode

FORMS = click.Choice(["sarif", "junit", "badge", "annex"])


@click.command()
@click.argument("source", type=PATH)
@click.option("--html", type=PATH, help="Write the page here.")
@click.option("--redact/--no-redact", help="Leave true values out, for sharing.")
@click.option("--advice", type=PATH, help="What fedleak advise --json wrote: recommendations for the page.")
@click.option("--format", "form", type=FORMS, help="For CI systems, READMEs and impact assessments.")
@click.option("--to", type=PATH, help="The file for --format; standard output if left out.")
@verbose_option
def report(source: Path, **options: Any) -> None:
    """Render a report again, without running anything again.

    SOURCE: A report.json that an audit wrote, or its folder.
    """
    from fedleak.cli.show import report_command

    report_command(source, **options)


@click.command()
@click.argument("before", type=PATH)
@click.argument("after", type=PATH)
@json_option
def diff(before: Path, after: Path, json: str | None) -> ExitCode:
    """Which leaks closed, opened or moved between two audits: 1 if one opened or got worse, 4 if one is not known.

    BEFORE: A report.json that an audit wrote, or its folder. AFTER: Another.
    """
    from fedleak.cli.show import diff_command

    return diff_command(before, after, json)


@click.command()
@click.argument("reports", type=PATH, nargs=-1, required=True)
@json_option
def ledger(reports: tuple[Path, ...], json: str | None) -> None:
    """What several audits reveal together: repeated runs, added columns, further partners; what is new in each.

    REPORTS: Files report.json that audits wrote, or their folders, in the order in which the federations took place.
    """
    from fedleak.cli.ledger import ledger_command

    ledger_command(reports, json)
