"""A file of what was measured, a piece a line, so that an interrupted measurement goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from fedleak.core.errors import InputError
from fedleak.trial.spent import cpu_seconds


@dataclass(frozen=True)
class Entry:
    key: str  # JSON
    value: Any
    cpu_seconds: float
    by: str = ""  # an engine and its machine, where it was not this process
    data_sha256: Mapping[str, str | None] = field(default_factory=dict)  # of files that were read for it elsewhere


class MeasuredJournal:
    """Values, all of them JSON, by keys that are JSON too. Without ``path`` they are in memory alone. A file that other
    code measured is refused: its figures are not of this one. ``named`` says in errors what the path is."""

    def __init__(self, path: Path | None = None, *, named: str = "the journal") -> None:
        self._path, self._named = path, named
        self._found: dict[str, Entry] = {}
        self.earlier_seconds = 0.0  # CPU time of what was in the file
        self.is_closed = False  # an interruption came: what is there is all that there will be
        if path is not None and path.is_file():
            self._read(path)

    def _read(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").split("\n")
        try:
            code = json.loads(lines[0])["code"]
            entries = [json.loads(line) for line in lines[1:-1]]  # what has no end of line was cut off
            found = [Entry(**{**one, "cpu_seconds": float(one["cpu_seconds"])}) for one in entries]
            self._found = {entry.key: entry for entry in found}
            self.earlier_seconds = sum(entry.cpu_seconds for entry in found)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{self._named} must be a new file or one that this command wrote; got {path}") from error
        if code != code_digest():
            raise InputError(
                f"{self._named} must be measured by the same code; {path} is of another version: remove it"
            )
        path.write_text("\n".join([*lines[:-1], ""]), encoding="utf-8")

    def of(self, key: object) -> Any:
        """None where there is nothing of it."""
        found = self._found.get(_text(key))
        return None if found is None else found.value

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._found.values())

    def keep(self, key: object, value: Any, spent: float = 0.0) -> None:
        self.take(Entry(_text(key), value, spent))

    def take(self, entry: Entry) -> None:
        """What another journal may have kept."""
        self._found[entry.key] = entry
        if self._path is None:
            return
        if not self._path.is_file():
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps({"code": code_digest()}) + "\n", encoding="utf-8")
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(entry)) + "\n")

    def measured(self, key: object, measure: Callable[[], Any]) -> Any:
        """What there is of it, or what ``measure`` finds now."""
        if self.of(key) is None:
            if self.is_closed:
                raise KeyboardInterrupt
            began = cpu_seconds()
            found = measure()
            self.keep(key, found, cpu_seconds() - began)
        return self.of(key)

    def remove(self) -> None:
        """Nobody needs it once there is a result."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _text(key: object) -> str:
    return json.dumps(key, sort_keys=True)


def code_digest() -> str:
    """Of every module of ours: what is measured depends on attacks, protocols, metrics and the decision."""
    folder = Path(__file__).parents[1]
    digest = sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
