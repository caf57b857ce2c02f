"""Mutated files through every reader: an answer, or one clear error; never a traceback, a hang or memory without bound.

Seeds are in tests/fuzz_seeds; mutations follow from a number, so a failure is repeated by it. Archives are mutated in
their members as well, and packed again, so that their check sums are right and what is inside is reached.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fedleak.advising.kept_advice import read_advice
from fedleak.auditing.planner import plan_check
from fedleak.auditing.scenario_file import load_scenario
from fedleak.cli.inspect import summary_of
from fedleak.core.errors import FedleakError
from fedleak.data.sources import load
from fedleak.door.reports import load_report
from fedleak.models.model_files import read_model_file
from fedleak.protocols.captured.gradient_file import captured_gradient
from fedleak.protocols.captured.truth_file import read_truth
from fedleak.report.json_format import loads
from fedleak.storage.capture_and_truth import load_capture, load_truth
from fedleak.storage.view_and_guess import load_view
from fedleak.sweeps.grid import load_grid
from fedleak.sweeps.queried import chosen_code
from fedleak.sweeps.store import Store
from fedleak.testing.benchmark_tasks import TASKS, read_entry

TESTS = Path(__file__).parents[1] / "tests"
SEEDS = TESTS / "fuzz_seeds"
VIEW = TESTS / "storage" / "samples" / "version_1" / "view"
SECONDS_A_FILE = 10  # of the processor, so that a busy machine makes no hang of a file
WAITING_SECONDS = 600  # by the clock, for what waits and does not work
MEMORY_BYTES = 1_000_000_000  # beyond what the process begins with
PIECES = (
    b"\xff" * 8, b"\x00" * 8, b"-1", b"1e999", b"NaN", b"9" * 400, b"18446744073709551616", b'"', b"[" * 2000, b"{}",
    b"\n", b",", b"null", b"\x1b[31m", "\u202e".encode(), b"(4611686018427387904,)", b"|O", b"<f8", b"<U99999999",
)  # fmt: skip


def _inspected(path: Path) -> None:
    summary_of(load_capture(path))


def _checked(path: Path) -> None:
    plan_check(load_scenario(path))


def _viewed(path: Path) -> None:
    """Messages and records are read when they are asked for."""
    view = load_view(path)
    list(view.messages)
    for records in view.locals.values():
        list(records)


def _known(path: Path) -> None:
    """What a captured run is checked against."""
    read_truth(path, load_capture(SEEDS / "capture-shares"))


def _swept(path: Path) -> None:
    store = Store(path)
    version = chosen_code(store, None)
    store.findings(version)
    store.settings()
    for report in store.reports(version).values():
        loads(report)


# By how the name of a seed begins: what reads it.
READERS: dict[str, Callable[[Path], object]] = {
    "model": read_model_file,
    "booster": read_model_file,
    "advice": read_advice,
    "entry": lambda path: read_entry(TASKS[0], path),
    "table": lambda path: load(str(path), folder=Path()),
    "report": load_report,
    "journal": load_report,
    "capture": _inspected,
    "truth": load_truth,
    "known": _known,
    "scenario": _checked,
    "view": _viewed,
    "gradient": captured_gradient,
    "grid": lambda path: load_grid(path).cells(),
    "store": _swept,
}


def reader_of(seed: Path) -> Callable[[Path], object]:
    return READERS[_kind(seed)]


def _kind(seed: Path) -> str:
    return re.split("[-.]", seed.name)[0]


class TooLong(BaseException):
    """Not an Exception, and no OSError as TimeoutError is: a reader that takes those for a file's fault, or a planner
    for an attack's, must not take this one."""


@dataclass(frozen=True)
class Fault:
    seed: str
    number: int
    what: str


def mutated(data: bytes, rng: Random) -> bytes:
    """A few changes: bits, bytes, numbers, pieces that readers stumble over, parts removed, doubled or cut off. Half of
    the time the length stays, so that what is behind a check of lengths is reached."""
    changed = bytearray(data)
    n_kinds = 3 if rng.random() < 0.5 else 7
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        at = rng.randrange(len(changed) + 1)
        end = min(len(changed), at + rng.choice((1, 2, 8, 64)))
        piece = rng.choice(PIECES)
        match rng.randrange(n_kinds):
            case 0 if at < len(changed):
                changed[at] ^= 1 << rng.randrange(8)
            case 1:
                changed[at:end] = rng.randbytes(end - at)
            case 2:
                changed[at : at + len(piece)] = piece[: len(changed) - at]
            case 3:
                changed[at:at] = piece
            case 4:
                _change_number(changed, at, piece, rng)
            case 5:
                changed[at:at] = changed[at:end]
            case 6:
                del changed[at : end if rng.random() < 0.9 else len(changed)]
    return bytes(changed)


def _change_number(changed: bytearray, at: int, piece: bytes, rng: Random) -> None:
    """The next number in digits becomes another one."""
    found = re.compile(rb"-?[0-9][0-9.]*").search(changed, at)
    if found:
        changed[found.start() : found.end()] = rng.choice((b"0", b"-1", b"1e308", b"2", b"4611686018427387904", piece))


def mutated_archive(data: bytes, rng: Random) -> bytes:
    """One member changed and packed again; now and then the archive itself."""
    if rng.random() < 0.3:
        return mutated(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    chosen, packed = rng.randrange(len(members)), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for place, (name, content) in enumerate(members):
            head = content[:128] if place == chosen and rng.random() < 0.5 else b""  # the header of an array
            rest = content[len(head) :]
            archive.writestr(
                name, mutated(head, rng) + rest if head else mutated(rest, rng) if place == chosen else rest
            )
    return packed.getvalue()


def place_mutant(seed: Path, folder: Path, rng: Random) -> Path:
    """The seed with a change in one of its files, in the folder."""
    target = folder / seed.name
    if seed.is_dir():
        shutil.copytree(seed, target)
        changed = rng.choice(sorted(path for path in target.rglob("*") if path.is_file()))
    else:
        changed = target
        shutil.copyfile(seed, target)
    change = mutated_archive if changed.suffix == ".npz" else mutated
    changed.write_bytes(change(changed.read_bytes(), rng))
    return target


def tried(seed: Path, number: int, folder: Path) -> str:
    """What came of one mutant: "read", "refused", or the traceback of a fault."""
    path = place_mutant(seed, folder, Random(f"{seed.name}/{number}"))
    _give_seconds(SECONDS_A_FILE, WAITING_SECONDS)
    try:
        reader_of(seed)(path)
        return "read"
    except FedleakError as error:
        return "refused" if "\n" not in str(error) else f"an error of several lines: {error}"
    except BaseException as error:
        return "".join(traceback.format_exception(error)[-6:])
    finally:
        _give_seconds(0, 0)
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _begin(memory_bytes: int) -> None:
    warnings.simplefilter("ignore")
    for seed in seeds():  # what libraries take for themselves is not a file's
        reader_of(seed)(seed)
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, _too_long)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _give_seconds(working: float, waiting: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, working)
    signal.setitimer(signal.ITIMER_REAL, waiting)


def _too_long(*_: object) -> None:
    raise TooLong(f"longer than {SECONDS_A_FILE} s of work, or {WAITING_SECONDS} s of waiting")


def block(job: tuple[Path, int, int]) -> tuple[Counter[str], list[Fault], int]:
    """Mutants of one seed, from a number on; with the peak of this process's memory in bytes."""
    seed, first, count = job
    counted: Counter[str] = Counter()
    faults = []
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        for number in range(first, first + count):
            what = tried(seed, number, Path(folder))
            counted[what if what in ("read", "refused") else "fault"] += 1
            if what not in ("read", "refused"):
                faults.append(Fault(seed.name, number, what))
    return counted, faults, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def seeds() -> list[Path]:
    return sorted([*(path for path in SEEDS.iterdir() if _kind(path) in READERS), VIEW])


def jobs(count: int, first: int, size: int = 50) -> Iterator[tuple[Path, int, int]]:
    """So many mutants over all seeds, in blocks, each seed in its turn."""
    found = seeds()
    share = -(-count // len(found))
    for start in range(first, first + share, size):
        for seed in found:
            yield seed, start, min(size, first + share - start)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant of each seed")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="end with the first block that is done after so long"
    )
    parser.add_argument("--jobs", type=int, default=1)
    wanted = parser.parse_args()
    until = time.monotonic() + wanted.seconds
    total: Counter[str] = Counter()
    faults: list[Fault] = []
    peak = 0
    with multiprocessing.Pool(wanted.jobs, _begin, (MEMORY_BYTES,)) as pool:
        for counted, found, memory in pool.imap_unordered(block, jobs(wanted.count, wanted.first)):
            total, faults, peak = total + counted, faults + found, max(peak, memory)
            if time.monotonic() >= until:  # not where jobs are made: a pool takes all of them at once
                break
    for fault in faults[:20]:
        print(f"{fault.seed}, mutant {fault.number}:\n{fault.what}")
    print(f"{sum(total.values()):,} mutants: {dict(total)}; peak of a process {peak / 1e6:.0f} MB")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
