"""What came of cells, in one SQLite file, by the digest of their inputs and by the code that computed them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

from fedleak.core.adversary import JOINT
from fedleak.core.errors import InputError
from fedleak.sweeps.cell import Done

STORE = "results.sqlite"
VERSION = 1
# As a view for whoever opens the file with SQLite; our own questions do not go by what a file says of itself.
_FINDINGS = f"""SELECT
  results.code, results.key, settings.setting,
  json_extract(value, '$.adversary') AS adversary, json_extract(value, '$.mode') AS mode,
  json_extract(value, '$.attack') AS attack,
  json_extract(value, '$.secret.kind') ||
    replace(' of ' || json_extract(value, '$.secret.owner'), ' of {JOINT}', '') AS secret,
  json_extract(value, '$.defense') AS defense, json_extract(value, '$.outcome') AS outcome,
  json_extract(value, '$.metric') AS metric, json_extract(value, '$.value') AS value,
  json_extract(value, '$.baseline') AS baseline, json_extract(value, '$.ci[0]') AS ci_low,
  json_extract(value, '$.ci[1]') AS ci_high, json_extract(value, '$.cells_recovered') AS cells_recovered,
  json_extract(value, '$.theory.verdict') AS theory, json_extract(value, '$.severity') AS severity,
  json_extract(value, '$.why') AS why
FROM results JOIN settings USING (key), json_each(results.report, '$.findings')
ORDER BY results.code, settings.rowid, json_each.id"""
_TABLES = f"""
CREATE TABLE results (
  key TEXT NOT NULL, code TEXT NOT NULL, inputs TEXT NOT NULL, report TEXT NOT NULL, has_failed INTEGER NOT NULL,
  seconds REAL NOT NULL, cpu_seconds REAL NOT NULL, time TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (key, code));
CREATE TABLE settings (key TEXT NOT NULL, setting TEXT NOT NULL, PRIMARY KEY (key, setting));
CREATE VIEW findings AS {_FINDINGS};
PRAGMA user_version = {VERSION};
"""
_HAS_TABLES = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('results', 'settings')"
_QUESTION = ("adversary", "mode", "attack", "secret", "defense")
_ANSWER = (
    "outcome",
    "metric",
    "value",
    "baseline",
    "ci_low",
    "ci_high",
    "cells_recovered",
    "theory",
    "severity",
    "why",
)
FIGURES = _QUESTION + _ANSWER
Row = dict[str, str | float | None]


def key_of(inputs: str) -> str:
    return sha256(inputs.encode()).hexdigest()


class Store:
    """One writer, any number of readers. What ``keep`` has returned from is on the disk."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        """A folder stands for the store that a sweep makes in it. ``new``: it is made where there is none."""
        self.path = path / STORE if path.is_dir() or (new and path.suffix != ".sqlite") else path
        if not new and not self.path.is_file():
            raise InputError(f"the store must be a folder or file that a sweep wrote; got {path}")
        with self._told():
            if new:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._opened()) as opened, opened:
                found = opened.execute("PRAGMA user_version").fetchone()[0]
                if found == 0 and new and not opened.execute("SELECT 1 FROM sqlite_master").fetchone():
                    opened.executescript(_TABLES)
                elif found != VERSION:
                    raise InputError(f"the store must be one of version {VERSION}; got version {found} in {self.path}")
                elif opened.execute(_HAS_TABLES).fetchone()[0] != 2:
                    raise InputError(f"the store must have its tables; got {self.path}, which has others")

    def kept(self, keys: Sequence[str], code: str) -> dict[str, bool]:
        """Of those keys that it has: whether something failed."""
        with self._told(), closing(self._opened()) as opened:
            found = dict(opened.execute("SELECT key, has_failed FROM results WHERE code = ?", (code,)))
        return {key: bool(found[key]) for key in keys if key in found}

    def call(self, settings: Sequence[tuple[str, Mapping[str, str]]]) -> None:
        """What a grid calls its cells, in the grid's order."""
        rows = [(key, json.dumps(setting)) for key, setting in settings]
        with self._told(), closing(self._opened()) as opened, opened:
            opened.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?)", rows)

    def keep(self, inputs: str, done: Done) -> None:
        row = (key_of(inputs), done.code, inputs, done.report, done.has_failed, done.seconds, done.cpu_seconds)
        names = "key, code, inputs, report, has_failed, seconds, cpu_seconds"
        with self._told(), closing(self._opened()) as opened, opened:
            opened.execute(f"INSERT OR REPLACE INTO results ({names}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def codes(self) -> list[str]:
        """Versions of the code that computed something, the latest last."""
        with self._told(), closing(self._opened()) as opened:
            return [code for (code,) in opened.execute("SELECT code FROM results GROUP BY code ORDER BY max(rowid)")]

    def reports(self, code: str) -> dict[str, str]:
        with self._told(), closing(self._opened()) as opened:
            found = opened.execute("SELECT key, report FROM results WHERE code = ? ORDER BY key", (code,)).fetchall()
            return {key: _text(report) for key, report in found}

    def settings(self) -> dict[str, dict[str, str]]:
        """By key; of a cell that two grids call differently, the first."""
        with self._told(), closing(self._opened()) as opened:
            found = opened.execute("SELECT key, setting FROM settings ORDER BY rowid DESC").fetchall()
            return {key: _setting(setting) for key, setting in found}

    def findings(self, code: str) -> list[Row]:
        """A row a finding: the setting's axes, then its figures."""
        with self._told(), closing(self._opened()) as opened:
            names = ", ".join(FIGURES)
            found = opened.execute(f"SELECT key, setting, {names} FROM ({_FINDINGS}) WHERE code = ?", (code,))
            return [_row(*one) for one in found]

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=60)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError) as error:  # of values: what is no text, or no JSON
            why = " ".join(str(error).split())[:200]
            raise InputError(f"the store must be a SQLite file that a sweep can use; got {self.path}: {why}") from error


def _row(key: object, setting: object, *figures: str | float | None) -> Row:
    row = dict(zip(FIGURES, figures, strict=True))
    row["adversary"] = "+".join(_listed(json.loads(str(row["adversary"]))))
    return {"key": str(key)[:12], **_setting(setting), **row}  # an attack's own name before the grid's


def _text(report: object) -> str:
    if not isinstance(report, str):
        raise ValueError(f"a report must be text; got {type(report).__name__}")
    return report


def _setting(text: object) -> dict[str, str]:
    found = json.loads(str(text))
    if not isinstance(found, dict):
        raise ValueError(f"a setting must be an object; got {str(text)[:40]!r}")
    return {name: str(value) for name, value in found.items()}


def _listed(names: object) -> list[str]:
    if not isinstance(names, list):
        raise ValueError(f"an adversary must be a list of parties; got {str(names)[:40]!r}")
    return [str(name) for name in names]
