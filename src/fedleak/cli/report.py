"""``fedleak report``."""

from __future__ import annotations

from pathlib import Path

from fedleak.cli.output import plain_console
from fedleak.report import html as page
from fedleak.report import json_format, terminal
from fedleak.report.redaction import redact as redacted


def report_command(source: Path, html: Path | None, redact: bool) -> None:
    found = json_format.read(source)
    if redact:
        found = redacted(found)
    terminal.print_report(found, plain_console())
    if html is not None:
        page.write(found, html)
