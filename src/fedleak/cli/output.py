"""Where results go: a file, or standard output with nothing else on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import typer

from fedleak.core.errors import InputError


def write_json(value: Mapping[str, object], target: str) -> None:
    """``-`` is standard output; a file is written under a temporary name and then renamed."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    if target == "-":
        typer.echo(text, nl=False)
        return
    write_text(Path(target), text)


def write_text(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written ({error.strerror}); give another path") from error
