"""From nothing to a report with the leak, timed: one ``fedleak capture … --audit`` for each framework.

python scripts/from_nothing.py FOLDER [NAME ...]     (FEDLEAK_FRAMEWORKS says where environments are made)

Prints a JSON line a run: seconds of the wall clock and of the processor (of everything that the command started), the
megabytes of the environment and whether it was there before, and the load of the machine. A process that is left behind
when the command has ended is counted, and ended by its id.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

from fedleak.frameworks.environment import is_ready, place_of
from fedleak.frameworks.recipe import recipe_of

BREAST = ("--data", "sklearn:breast_cancer")
FLAGS = ("--target", "y", "--set", "parties=3")
RUNS: dict[str, tuple[str, ...]] = {
    "xgboost": ("xgboost", *BREAST),
    "xgboost-numbers": ("xgboost", "--data", "sklearn:diabetes", "--task", "regression"),
    "flower": ("flower", *FLAGS),
    "flower-secagg": ("flower", *FLAGS, "--set", "aggregation=secagg+", "--set", "max_weight=20"),
    "flower-split": ("flower-split", *BREAST, "--rows", "60", "--own-share", "0.8", "--set", "rounds=30"),
    "flower-torch": ("flower-torch", "--data", "sklearn:wine", "--task", "multiclass", "--rows", "24"),
    "nvflare": ("nvflare", *FLAGS),
    "nvflare-xgboost": ("nvflare-xgboost", *BREAST),
    "fate": ("fate", *BREAST, "--rows", "200", "--own-share", "0.1", "--set", "epochs=10", "--set", "batch_size=50"),
    "fate-secureboost": ("fate-secureboost", *BREAST, "--rows", "60"),
}
ADOPTS_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER: what a command leaves behind becomes our child
LEFT_SECONDS = 10.0


def flags(path: Path) -> None:
    """45 rows of 8 binary columns and a label."""
    cells = np.random.default_rng(5).integers(0, 2, (45, 9))
    lines = ["a,b,c,d,e,f,g,h,y", *(",".join(map(str, row)) for row in cells)]
    path.write_text("\n".join(lines), encoding="utf-8")


def timed(name: str, folder: Path, seed: int = 1) -> dict[str, Any]:
    framework, *given = RUNS[name]
    recipe = recipe_of(framework)
    out, new = folder / name, not is_ready(recipe)
    if "--data" not in given:
        folder.mkdir(parents=True, exist_ok=True)
        flags(folder / "flags.csv")
        given = [*given, "--data", str(folder / "flags.csv")]
    command = [sys.executable, "-m", "fedleak", "capture", framework, *given, "--seed", str(seed), "--out", str(out)]
    began, cpu_before = monotonic(), waited_for()
    process = subprocess.Popen([*command, "--audit"], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    seen = seen_until_end(process)
    wall = monotonic() - began
    left = n_left_behind()
    return {
        "run": name,
        "version": f"{recipe.package} {recipe.version}",
        "day": datetime.now(UTC).date().isoformat(),
        "exit_code": process.returncode,
        "wall_seconds": round(wall),
        "cpu_seconds": round(max(seen, waited_for() - cpu_before)),
        "new_environment": new,
        "megabytes": round(size_of(place_of(recipe)) / 1e6),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
        "left_behind": left,
    }


def seen_until_end(process: subprocess.Popen[bytes]) -> float:
    """Seconds of the processor of all processes below us, as last seen. Some parents wait for no child (Ray's), and
    what nobody waits for is not in the kernel's sum."""
    ticks: dict[tuple[int, int], int] = {}
    while process.poll() is None:
        ticks |= ticks_below(os.getpid())
        sleep(0.5)
    return sum(ticks.values()) / os.sysconf("SC_CLK_TCK")


def ticks_below(root: int) -> dict[tuple[int, int], int]:
    """By number and start, so that a number that is used again is another process."""
    children: dict[int, list[int]] = {}
    times: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            fields = (entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            times[int(entry.name)] = int(fields[19]), int(fields[11]) + int(fields[12])
    below = list(children.get(root, ()))
    for number in below:
        below += children.get(number, ())
    return {(number, times[number][0]): times[number][1] for number in below}


def waited_for() -> float:
    """Of all processes that we have waited for, and that they have waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def n_left_behind() -> int:
    """Processes of the command that are at work ten seconds after its end; ended by their id."""
    ends = monotonic() + LEFT_SECONDS
    left: set[int] = set()
    with suppress(ChildProcessError):
        while True:
            number, _ = os.waitpid(-1, os.WNOHANG)
            if number == 0 and monotonic() > ends:
                alive = {number for number, _ in ticks_below(os.getpid())}
                left |= alive
                for process in alive:
                    os.kill(process, signal.SIGKILL)
            if number == 0:
                sleep(0.1)
    return len(left)


def size_of(folder: Path) -> int:
    """What its files take on the disk, in bytes."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def main(folder: Path, names: list[str]) -> None:
    ctypes.CDLL(None).prctl(ADOPTS_ORPHANS, 1, 0, 0, 0)
    for name in names or RUNS:
        print(json.dumps(timed(name, folder)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
