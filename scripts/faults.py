"""Inject each fault into an audit, and write what came of it to docs/reliability.md.

An audit is ended in every way that we know of; then its folder is read, the audit is resumed, and its report is held
against that of an undisturbed one with the same run key. Exit code 1 where anything was lost or left behind, or where
an audit ended with a code that does not mean what happened to it.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fedleak.core.finding import Outcome
from fedleak.door.reports import load_report
from fedleak.report.finding_journal import JOURNAL
from fedleak.storage.own_folder import SETTLED_SECONDS
from injected_faults import FAULTS, FEDLEAK, Place, comparable

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
N_MOMENTS = 10
KILLED = (-signal.SIGKILL,)
MOST_DRAWS = 20


@dataclass(frozen=True)
class Row:
    fault: str
    how: str
    exit_code: int
    expected: tuple[int, ...]  # codes that tell what happened (docs/architecture.md)
    said: str
    kept: str
    lost: str
    left: str

    @property
    def is_good(self) -> bool:
        return self.lost == "nothing" and self.left == "nothing" and self.exit_code in self.expected


def readable(place: Place, out: str) -> str:
    """What ``fedleak report`` makes of the folder before anybody mends anything."""
    if not (place.folder / out).exists():
        return "no audit was begun"
    shown = place.shell([*FEDLEAK, "report", out])
    if shown.returncode != 0:
        return f"UNREADABLE: {shown.stderr.strip()}"
    found = load_report(place.folder / out).findings
    return f"{sum(one.outcome is not Outcome.SKIPPED for one in found)} of {len(found)} findings"


def lost(place: Place, out: str) -> str:
    """After going on where it stopped, or beginning where there was nothing."""
    if list(place.temporary.glob("fedleak-*")):
        time.sleep(SETTLED_SECONDS)  # views of an audit that was killed are the next one's to remove
    begun = (place.folder / out / "journal.jsonl").exists()
    done = place.shell([*FEDLEAK, "audit", "--resume", out]) if begun else place.run(out)
    if done.returncode != 0:
        return f"NOT RESUMED: {done.stderr.strip().splitlines()[-1]}"
    found = comparable(place.folder / out)
    return ", ".join(f"{name} DIFFERS" for name in place.wanted if found[name] != place.wanted[name]) or "nothing"


def left(place: Place, out: str) -> str:
    found = [path.name for pattern in (".*.partial*", ".*.replaced") for path in (place.folder / out).rglob(pattern)]
    found += [path.name for path in place.temporary.glob("fedleak-*")]
    return ", ".join(sorted(found)) or "nothing"


def tried(place: Place, fault: str, number: int) -> Row:
    how, expected, inject = FAULTS[fault]
    out = f"out-{number}"
    code, said = inject(place, out)
    return _row(place, out, fault, how, code, expected, said)


def _row(place: Place, out: str, fault: str, how: str, code: int, expected: tuple[int, ...], said: str) -> Row:
    kept = readable(place, out)
    last = [line for line in said.strip().splitlines() if line.startswith("fedleak: ")] or [""]
    return Row(
        fault,
        how,
        code,
        expected,
        last[-1].removeprefix("fedleak: ").replace(str(place.folder), "…"),
        kept,
        lost(place, out),
        left(place, out),
    )


def killed_at_random(place: Place, out: str, rng: Random) -> tuple[str, int]:
    """By the journal, whose lines come as the work does, and not by the clock, which runs on while a busy machine does
    something else. Its first line is there before the work, its last one comes with the end of it."""
    n_lines = place.journal.count(b"\n")
    after, wait = rng.randrange(1, n_lines), rng.uniform(0.0, place.seconds / (n_lines - 1))
    process = place.begun(out)
    place.after_lines(out, after)
    time.sleep(wait)
    process.kill()
    process.communicate()
    return f"SIGKILL {1000 * wait:.0f} ms after line {after} of {n_lines} of the journal", process.returncode


def killed_at_work(place: Place, number: int, rng: Random) -> Row:
    """A moment at which everything is in the journal already is drawn again: nothing could be lost at it."""
    out = f"moment-{number}"
    journal = place.folder / out / JOURNAL
    for _ in range(MOST_DRAWS):
        shutil.rmtree(place.folder / out, ignore_errors=True)
        how, code = killed_at_random(place, out, rng)
        if code in KILLED and journal.read_bytes().count(b"\n") < place.journal.count(b"\n"):
            return _row(place, out, f"killed at a random moment, {number + 1}", how, code, KILLED, "")
    raise SystemExit(f"none of {MOST_DRAWS} random moments fell into the work")


HEAD = """# Reliability
What becomes of an audit that is disturbed. Made by `make faults`, which injects each fault into an audit of a small
scenario, reads the folder with `fedleak report`, goes on with `fedleak audit --resume`, and compares the report with
that of an undisturbed audit of the same run key, times aside.

| fault | how it was injected | exit code | what it said | readable at once | lost after `--resume` | left behind |
|---|---|---|---|---|---|---|
"""
TAIL = """
A negative exit code is the signal that ended the process. Where no audit was begun, a new one takes the place of
`--resume`. Views of an audit that was killed lie in the temporary folder until the next audit, if that comes more than
five seconds later.

Random moments: a line of the journal is drawn, all but the last alike, and a wait from nothing to the time that a line
takes on average in the undisturbed audit (seed 0). A moment at which the journal is complete already is drawn again, so
that at each of them something is still to be found.
"""


def page(rows: Sequence[Row]) -> str:
    cells = ((row.fault, row.how, str(row.exit_code), row.said or "—", row.kept, row.lost, row.left) for row in rows)
    return HEAD + "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in cells) + TAIL


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="faults by name; the page is not written then")
    chosen = parser.parse_args().only
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        place = Place(folder)
        rows = []
        for number, fault in enumerate(FAULTS):
            if chosen is None or fault in chosen:
                rows.append(tried(place, fault, number))
                print(rows[-1], flush=True)
        if chosen is None:
            rng = Random(0)
            rows += [killed_at_work(place, number, rng) for number in range(N_MOMENTS)]
            PAGE.write_text(page(rows), encoding="utf-8")
        return 0 if all(row.is_good for row in rows) else 1
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
