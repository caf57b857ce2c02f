"""Results of experiments as files: one each, under its paper's folder, as ``fedleak reproduce --json`` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedleak.core.errors import FileFormatError
from fedleak.papers.experiment import Band, Result, Row
from fedleak.schema import strict_json
from fedleak.schema.strict_json import Malformed

MOST_BYTES = 64 << 20


def result_file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def kept_result(folders: Sequence[Path], name: str, *, quick: bool) -> tuple[Path, Result] | None:
    """From the first folder that has it whole; a quick one does only where a quick one is asked for."""
    for folder in folders:
        path = result_file(folder, name)
        if path.is_file():
            found = read_result(path)
            if found.complete and found.experiment == name and found.quick <= quick:
                return path, found
    return None


def read_result(path: Path) -> Result:
    if path.stat().st_size > MOST_BYTES:
        raise FileFormatError(f"{path} must be a result of at most {MOST_BYTES:,} bytes")
    try:
        found: Any = strict_json.parse(path.read_bytes())
        return Result(
            experiment=str(found["experiment"]),
            quick=bool(found["quick"]),
            seeds=tuple(int(seed) for seed in found["seeds"]),
            rows=tuple(_row(row) for row in found["rows"]),
            cpu_seconds=float(found["cpu_seconds"]),
            provenance=dict(found["provenance"]),
            complete=bool(found["complete"]),
            from_true_rows=tuple(found.get("settings_from_true_rows", ())),
        )
    except (Malformed, KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{path} must be a result that fedleak reproduce wrote; got: {error}") from error


def _row(row: Any) -> Row:
    bands = {name: Band(kind) for name, kind in row["bands"].items()}
    return Row(row["setting"], row["measured"], row["paper"], row["baseline"], row["note"], bands)
