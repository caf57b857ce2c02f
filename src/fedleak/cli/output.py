"""Where results go: a file, or standard output with nothing else on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import typer

from fedleak.report.files import write_whole


def write_json(value: Mapping[str, object], target: str) -> None:
    """``-`` is standard output; a file is written under a temporary name and then renamed."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if target == "-":
        typer.echo(text, nl=False)
        return
    write_whole(Path(target), text)
