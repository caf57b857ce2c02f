"""A file of what was measured, a block a line, so that an interrupted calibration goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import fedleak
from fedleak.calibration.blocks import Block
from fedleak.calibration.tally import Tally
from fedleak.core.errors import InputError
from fedleak.core.finding import Outcome


class Journal:
    """``path`` None keeps nothing. A file that other code measured is refused: its figures are not of this one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[str, list[Tally]] = {}
        if path is None:
            return
        if path.is_file():
            self._read(path)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"code": code_digest()}) + "\n", encoding="utf-8")

    def _read(self, path: Path) -> None:
        lines = path.read_text(encoding="utf-8").split("\n")
        try:
            code = json.loads(lines[0])["code"]
            entries = [json.loads(line) for line in lines[1:-1]]  # what has no end of line was cut off
            self._found = {entry["block"]: [_tally(one) for one in entry["tallies"]] for entry in entries}
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"--out must name a new file or one that `fedleak calibrate` wrote; got {path}") from error
        if code != code_digest():
            raise InputError(f"--out must be measured by the same code; {path} is of another version: remove it")
        path.write_text("\n".join([*lines[:-1], ""]), encoding="utf-8")

    def of(self, block: Block) -> list[Tally] | None:
        return self._found.get(_key(block))

    def keep(self, block: Block, tallies: list[Tally]) -> None:
        self._found[_key(block)] = tallies
        if self._path is not None:
            line = json.dumps({"block": _key(block), "tallies": [_plain(tally) for tally in tallies]})
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def _key(block: Block) -> str:
    return json.dumps(block.key, sort_keys=True)


def _plain(tally: Tally) -> dict[str, object]:
    return {
        "attack": tally.attack,
        "table": tally.table,
        "n": tally.n,
        "outcomes": {outcome.value: count for outcome, count in tally.outcomes.items()},
        "failures": list(tally.failures),
        "cpu_seconds": tally.cpu_seconds,
    }


def _tally(plain: Mapping[str, object]) -> Tally:
    outcomes, failures = plain["outcomes"], plain["failures"]
    if not isinstance(outcomes, dict) or not isinstance(failures, list):
        raise TypeError
    counts = {Outcome(name): int(count) for name, count in outcomes.items()}
    n, seconds = int(str(plain["n"])), float(str(plain["cpu_seconds"]))
    return Tally(str(plain["attack"]), str(plain["table"]), n, counts, tuple(map(str, failures)), seconds)


def code_digest() -> str:
    """Of every module of ours: what is measured depends on attacks, protocols, metrics and the decision."""
    folder = Path(str(fedleak.__file__)).parent
    digest = sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
