"""Inject each fault into an audit, and write what came of it to docs/reliability.md.

An audit is ended in every way that we know of; then its folder is read, the audit is resumed, and its report is held
against that of an undisturbed one with the same run key. Exit code 1 where anything was lost or left behind, or where
an audit ended with a code that does not mean what happened to it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fedleak.core.finding import Outcome
from fedleak.core.whole.randomness import RunKey
from fedleak.door.reports import load_report
from fedleak.trial.isolation import SETTLED_SECONDS

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
KEY = str(RunKey.published(0))
N_MOMENTS = 10
FEDLEAK = (sys.executable, "-m", "fedleak")
SCENARIO = """
title = "one to disturb"
seed = 3
[data]
source = "sklearn:breast_cancer"
scaling = "standard+max-row-norm"
max_rows = 100
[federation]
protocol = "vertical-logistic"
cipher = "sealed"
batch_size = 8
epochs = 4
learning_rate = 0.1
[federation.partition]
by = "ratio"
[[federation.parties]]
name = "bank"
role = "active"
n_columns = 7
[[federation.parties]]
name = "fintech"
role = "passive"
n_columns = 23
[[adversary]]
parties = ["fintech"]
attacks = ["residual-sign", "own-weights", "minimum-norm-labels", "residual-recovery"]
[[defense]]
name = "gaussian-noise"
sigma = 200.0
"""


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


class Place:
    """A folder with the scenario, a temporary folder of its own, and the report of an undisturbed audit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
        began = time.monotonic()
        self.run("undisturbed")
        self.seconds = time.monotonic() - began
        self.wanted = comparable(folder / "undisturbed")

    def command(self, out: str, *more: str) -> list[str]:
        return [*FEDLEAK, "audit", "scenario.toml", "--out", out, "--repeats", "2", "--run-key", KEY, *more]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.temporary)}

    def run(self, out: str, *more: str) -> subprocess.CompletedProcess[str]:
        return self.shell(self.command(out, *more))

    def shell(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=300
        )

    def begun(self, out: str) -> subprocess.Popen[str]:
        with signals_heard():
            return subprocess.Popen(
                self.command(out),
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )

    def after_lines(self, out: str, n_lines: int) -> None:
        """Wait until the journal has so many lines."""
        journal = self.folder / out / "journal.jsonl"
        until = time.monotonic() + 120
        while time.monotonic() < until and (not journal.exists() or journal.read_bytes().count(b"\n") < n_lines):
            time.sleep(0.01)


@contextmanager
def signals_heard() -> Iterator[None]:
    """What is started in the background of a shell ignores Ctrl-C, and so would what it starts."""
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def comparable(out: Path) -> dict[str, object]:
    """A report without what the clock says."""
    told = json.loads((out / "report.json").read_text(encoding="utf-8"))
    told["environment"].pop("time")
    for entry in (*told["runs"], *told["findings"]):
        entry.pop("seconds")
    return dict(told)


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


Injection = Callable[[Place, str], tuple[int, str]]


def signalled(*signals: int, pause: float = 0.05) -> Injection:
    def inject(place: Place, out: str) -> tuple[int, str]:
        process = place.begun(out)
        place.after_lines(out, 3)
        for number in signals:
            process.send_signal(number)
            time.sleep(pause)
        _, said = process.communicate(timeout=120)
        return process.returncode, said

    return inject


def limited(limit: str) -> Injection:
    """Under a limit of the shell."""

    def inject(place: Place, out: str) -> tuple[int, str]:
        done = place.shell(["sh", "-c", f'{limit}; exec "$@"', "sh", *place.command(out)])
        return done.returncode, done.stderr

    return inject


def on_small_disk(kilobytes: int, n_lines: int | None) -> Injection:
    """On a file system of that size, in a name space of its own; filled up when the journal has so many lines."""

    def inject(place: Place, out: str) -> tuple[int, str]:
        fill = "" if n_lines is None else FILL.format(n_lines=n_lines)
        inside = f'mount -t tmpfs -o size={kilobytes}k tmpfs disk && {{ {fill} "$@"; code=$?; rm -f disk/filled; '
        inside += f"if [ -d disk/out ]; then cp -r disk/out {out}; fi; exit $code; }}"
        (place.folder / "disk").mkdir(exist_ok=True)
        done = place.shell(["unshare", "-rm", "sh", "-c", inside, "sh", *place.command("disk/out")])
        return done.returncode, done.stderr

    return inject


FILL = (
    '(until [ "$(cat disk/out/journal.jsonl 2>/dev/null | wc -l)" -ge {n_lines} ]; do sleep 0.01; done; '
    "cat /dev/zero > disk/filled 2>/dev/null) &"
)


def output_to(target: str) -> Injection:
    def inject(place: Place, out: str) -> tuple[int, str]:
        done = place.shell(["sh", "-c", f'"$@" > {target}', "sh", *place.command(out)])
        return done.returncode, done.stderr

    return inject


def into_closed_pipe(place: Place, out: str) -> tuple[int, str]:
    done = place.shell(["bash", "-c", '"$@" | true; exit ${PIPESTATUS[0]}', "bash", *place.command(out)])
    return done.returncode, done.stderr


def beside_another(place: Place, out: str) -> tuple[int, str]:
    """The first goes on undisturbed; the code and the line are the second's."""
    first = place.begun(out)
    place.after_lines(out, 2)
    first.send_signal(signal.SIGSTOP)  # or it might be done before the second has begun
    second = place.run(out)
    first.send_signal(signal.SIGCONT)
    first.communicate(timeout=120)
    return second.returncode, second.stderr


FAULTS: dict[str, tuple[str, tuple[int, ...], Injection]] = {
    "Ctrl-C": ("SIGINT after three lines of the journal", (130,), signalled(signal.SIGINT)),
    "Ctrl-C twice": ("SIGINT twice, 50 ms apart", (130,), signalled(signal.SIGINT, signal.SIGINT)),
    "terminated": ("SIGTERM after three lines of the journal", (143,), signalled(signal.SIGTERM)),
    "terminal closed": ("SIGHUP after three lines of the journal", (129,), signalled(signal.SIGHUP)),
    "killed": ("SIGKILL after three lines of the journal", (-signal.SIGKILL,), signalled(signal.SIGKILL)),
    "disk full from the start": ("file system of 4 KB", (2,), on_small_disk(4, None)),
    "disk full while it runs": ("file system of 100 KB, too small for a transcript", (3,), on_small_disk(100, None)),
    "disk full late": ("file system of 8 MB, filled up after four lines of the journal", (3,), on_small_disk(8000, 4)),
    "output to a full device": ("standard output is /dev/full", (3,), output_to("/dev/full")),
    "output closed": ("standard output is a pipe that nobody reads", (141,), into_closed_pipe),
    "files too large": ("ulimit -f 40 (blocks of 512 bytes)", (3,), limited("ulimit -f 40")),
    "too few descriptors": ("ulimit -n 24", (0, 3), limited("ulimit -n 24")),
    "too little memory": ("ulimit -v 600000 (KB)", (0, 3), limited("ulimit -v 600000")),
    "two audits in one folder": ("a second audit with the same --out", (2,), beside_another),
}
# Where a limit leaves room for everything there is nothing to tell: which one does depends on the machine.


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


def killed_at_random(place: Place, number: int, rng: Random) -> Row:
    moment = rng.uniform(0.0, place.seconds)
    out = f"moment-{number}"
    process = place.begun(out)
    time.sleep(moment)
    process.kill()
    process.communicate()
    share = f"SIGKILL after {moment / place.seconds:.0%} of the time of an undisturbed audit"
    expected = (-signal.SIGKILL, 0)  # 0: it was quicker than the undisturbed one
    return _row(place, out, f"killed at a random moment, {number + 1}", share, process.returncode, expected, "")


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
            rows += [killed_at_random(place, number, rng) for number in range(N_MOMENTS)]
            PAGE.write_text(page(rows), encoding="utf-8")
        return 0 if all(row.is_good for row in rows) else 1
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
