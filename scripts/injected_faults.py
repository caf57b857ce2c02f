"""An audit of a small scenario in a folder of its own, and each way to disturb it that we know of."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fedleak.core.whole.randomness import RunKey
from fedleak.door.reports import PAGE, REPORT
from fedleak.report.finding_journal import JOURNAL

KEY = str(RunKey.published(0))
FEDLEAK = (sys.executable, "-m", "fedleak")
PATIENCE_SECONDS = 1800  # a machine may have ten times as much to do as it has cores, which is no fault of an audit
# The small scenario of the tests; in place of its second adversary, what the first one tries.
SMALL = (Path(__file__).parents[1] / "tests" / "small_scenario.toml").read_text(encoding="utf-8")
SECOND = '[[adversary]]\nparties = ["bank"]\n'
TRIED = 'attacks = ["residual-sign", "own-weights", "minimum-norm-labels", "residual-recovery"]\n'
assert SECOND in SMALL
SCENARIO = SMALL.replace(SECOND, TRIED)


class Place:
    """A folder with the scenario, a temporary folder of its own, and the report of an undisturbed audit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
        undisturbed = self.begun("undisturbed")
        self.after_lines("undisturbed", 1)
        began = time.monotonic()
        undisturbed.communicate()
        self.seconds = time.monotonic() - began  # of the work itself, imports aside
        self.wanted = comparable(folder / "undisturbed")
        self.journal = (folder / "undisturbed" / JOURNAL).read_bytes()

    def command(self, out: str, *more: str) -> list[str]:
        return [*FEDLEAK, "audit", "scenario.toml", "--out", out, "--repeats", "2", "--run-key", KEY, *more]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "TMPDIR": str(self.temporary)}

    def run(self, out: str, *more: str) -> subprocess.CompletedProcess[str]:
        return self.shell(self.command(out, *more))

    def shell(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
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
        journal = self.folder / out / JOURNAL
        until = time.monotonic() + PATIENCE_SECONDS
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


Injection = Callable[[Place, str], tuple[int, str]]


def signalled(*signals: int, pause: float = 0.05) -> Injection:
    def inject(place: Place, out: str) -> tuple[int, str]:
        process = place.begun(out)
        place.after_lines(out, 3)
        for number in signals:
            process.send_signal(number)
            time.sleep(pause)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
        return process.returncode, said

    return inject


def limited(limit: str) -> Injection:
    """Under a limit of the shell."""

    def inject(place: Place, out: str) -> tuple[int, str]:
        done = place.shell(["sh", "-c", f'{limit}; exec "$@"', "sh", *place.command(out)])
        return done.returncode, done.stderr

    return inject


def without_room_for_the_page(place: Place, out: str) -> tuple[int, str]:
    """The work is done and in the journal; what is left is to write the page, which is larger, as transcripts are."""
    shutil.copytree(place.folder / "undisturbed", place.folder / out)
    for name in (REPORT, PAGE):
        (place.folder / out / name).unlink()
    limit = f'ulimit -f {len(place.journal) // 512 + 4}; exec "$@"'
    done = place.shell(["sh", "-c", limit, "sh", *FEDLEAK, "audit", "--resume", out])
    return done.returncode, done.stderr


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
    first.communicate(timeout=PATIENCE_SECONDS)
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
    "files too large": ("ulimit -f 24 (blocks of 512 bytes), too few for the journal", (3,), limited("ulimit -f 24")),
    "page too large": (
        "a finished journal resumed under ulimit -f, 2 KB more than it takes",
        (3,),
        without_room_for_the_page,
    ),
    "too few descriptors": ("ulimit -n 24", (0, 3), limited("ulimit -n 24")),
    "too little memory": ("ulimit -v 600000 (KB)", (0, 3), limited("ulimit -v 600000")),
    "two audits in one folder": ("a second audit with the same --out", (2,), beside_another),
}
# Where a limit leaves room for everything there is nothing to tell: which one does depends on the machine.
