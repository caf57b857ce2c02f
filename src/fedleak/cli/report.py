"""``fedleak report``."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console


def report_command(source: Path, html: Path | None, redact: bool) -> None:
    from fedleak.cli.output import write_text
    from fedleak.report import html as page
    from fedleak.report import json_format, terminal
    from fedleak.report.redaction import redacted

    found = json_format.read(source)
    if redact:
        found = redacted(found)
    terminal.show(found, Console())
    if html is not None:
        write_text(html, page.render(found))
