"""A million rows of a hundred columns through three audits: memory of all processes together, and time.

``python scripts/million_rows.py`` deals such a table to two parties under the ideal cipher, takes equality solving,
label recovery and arbiter collusion through whole audits, and puts what they took into docs/results/million_rows.json,
in place of what stands there of the same attack and size, and onto docs/scale.md; exit code 1 where the memory of all
processes passes 4 GB, or an attack does not find what theory promises.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cost_table import write_page
from fedleak.trial.provenance import code_state, one_thread, provenance

RESULT = Path(__file__).parents[1] / "docs" / "results" / "million_rows.json"
N_ROWS, N_COLUMNS, N_CLASSES, DATA_SEED = 1_000_000, 100, 11, 7
MOST_BYTES = 4_000_000_000
SAMPLED_SECONDS = 0.25
ROWS_AT_ONCE = 50_000
RUN_KEY = 32 * "9"


@dataclass(frozen=True)
class Case:
    attack: str
    adversary: tuple[str, ...]
    n_hidden: int  # columns of the partner, of all
    data: str  # further keys of [data]
    federation: str


CASES = (
    Case(
        "equality-solving",
        ("bank",),
        N_CLASSES - 1,
        'target = "y_bands"\ntask = "multiclass"\nscaling = "minmax"',
        'protocol = "vertical-prediction"\nmodel = "logistic"\nprediction_share = 0.99',
    ),
    Case(
        "residual-sign",
        ("shop",),
        50,
        'target = "y_flag"\nscaling = "standard+max-row-norm"',
        'protocol = "vertical-logistic"\ncipher = "sealed"\nbatch_size = 50\nepochs = 1\ninitialisation = "zero"',
    ),
    Case(
        "arbiter-collusion",
        ("bank", "referee"),
        3,
        'target = "y_flag"\nscaling = "standard+max-row-norm"',
        'protocol = "vertical-logistic-arbiter"\ncipher = "sealed"\nbatch_size = 1000\nepochs = 5\n'
        'initialisation = "zero"',
    ),
)
SCENARIO = """
[data]
source = "table.npz"
{data}
[federation]
{federation}
partition = {{ by = "ratio", test_share = 0.001 }}
parties = [
  {{ name = "bank", role = "active", n_columns = {n_own} }},
  {{ name = "shop", role = "passive", n_columns = {n_hidden} }},
  {referee}
]
[[adversary]]
parties = {adversary}
attacks = ["{attack}"]
"""
REFEREE = '{ name = "referee", role = "arbiter" }'


@dataclass(frozen=True)
class Row:
    attack: str
    rows: int
    columns: int
    runs: int
    wall_seconds: float
    cpu_seconds: float
    peak_megabytes: float  # of all processes together, shared pages counted once
    why: str
    outcome: str
    metric: str | None
    value: float | None
    baseline: float | None

    @property
    def is_good(self) -> bool:
        return self.peak_megabytes * 1e6 < MOST_BYTES and self.outcome == "leak"


def write_table(path: Path, n_rows: int) -> None:
    """Gaussian columns; a flag and bands of two linear scores with noise on them."""
    rng = np.random.default_rng(DATA_SEED)
    table = np.empty((n_rows, N_COLUMNS), dtype=np.float32)
    scores = np.empty((n_rows, 2))
    weights = rng.normal(size=(N_COLUMNS, 2))
    for start in range(0, n_rows, ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        table[part] = rng.normal(size=table[part].shape)
        scores[part] = table[part] @ weights + rng.normal(size=scores[part].shape)
    bands = np.searchsorted(np.quantile(scores[:, 1], np.arange(1, N_CLASSES) / N_CLASSES), scores[:, 1])
    labels = np.column_stack([scores[:, 0] > 0, bands]).astype(np.int64)
    np.savez(path, x=table, y=labels, targets=np.array(["flag", "bands"]))


def scenario(case: Case) -> str:
    return SCENARIO.format(
        data=case.data,
        federation=case.federation,
        n_own=N_COLUMNS - case.n_hidden,
        n_hidden=case.n_hidden,
        referee=REFEREE if "referee" in case.adversary else "",
        adversary=json.dumps(case.adversary),
        attack=case.attack,
    )


def measured(folder: Path, case: Case, n_rows: int, repeats: int) -> Row:
    """One audit, as a process of its own."""
    (folder / "scenario.toml").write_text(scenario(case), encoding="utf-8")
    report = folder / "report.json"
    chosen = {"--out": folder / "audit", "--json": report, "--repeats": repeats, "--run-key": RUN_KEY, "--jobs": 1}
    words = [str(word) for pair in chosen.items() for word in pair]
    command = [sys.executable, "-m", "fedleak", "audit", str(folder / "scenario.toml"), *words]
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watch = Watch(process.pid)
    _, status, _ = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - began
    watch.end()
    if process.returncode not in (0, 3):
        raise RuntimeError(f"an audit must end with 0, or 3 where an attack failed; got {process.returncode}")
    found = json.loads(report.read_text(encoding="utf-8"))["findings"]
    (told,) = [one for one in found if one["attack"] == case.attack and one["defense"] is None]
    answer = [told[name] for name in ("why", "outcome", "metric", "value", "baseline")]
    return Row(case.attack, n_rows, N_COLUMNS, repeats, seconds, watch.cpu_seconds, watch.peak_bytes / 1e6, *answer)


class Watch:
    """Memory and CPU time of a process with all that it started, looked at again and again until ``end``."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._pid = pid
        self._seconds: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    @property
    def cpu_seconds(self) -> float:
        return sum(self._seconds.values())

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(SAMPLED_SECONDS):
            tree = list(family(self._pid))
            self.peak_bytes = max(self.peak_bytes, sum(map(own_bytes, tree)))
            for pid in tree:
                self._seconds[pid] = max(self._seconds.get(pid, 0.0), own_seconds(pid))


def family(pid: int) -> Iterator[int]:
    yield pid
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                yield from family(int(child))
    except OSError:  # it has just ended
        return


def own_bytes(pid: int) -> int:
    """What is shared counts to each by its part, so that a sum counts it once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def own_seconds(pid: int) -> float:
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[N_ROWS])
    parser.add_argument("--repeats", type=int, default=2, help="runs that each finding is decided on")
    parser.add_argument("--attack", help="this one alone")
    parser.add_argument("--dry", action="store_true", help="no result is written")
    options = parser.parse_args()
    code, is_good = code_state(), True
    with tempfile.TemporaryDirectory() as name, one_thread():
        for n_rows in options.rows:
            write_table(Path(name) / "table.npz", n_rows)
            for case in CASES:
                if options.attack in (None, case.attack):
                    row = measured(Path(name), case, n_rows, options.repeats)
                    print(*asdict(row).values(), flush=True)
                    is_good &= row.is_good
                    if not options.dry:
                        keep(row, provenance(code))
    return 0 if is_good else 1


def keep(row: Row, made: Mapping[str, object]) -> None:
    """As soon as it is measured: the next one may take an hour."""
    before = json.loads(RESULT.read_text(encoding="utf-8"))["rows"] if RESULT.exists() else []
    others = [one for one in before if (one["attack"], one["rows"]) != (row.attack, row.rows)]
    told = {**asdict(row), "load": round(os.getloadavg()[0], 1), "provenance": dict(made)}
    write([*others, told])


def write(rows: list[dict[str, Any]]) -> None:
    """Each with where it came from; what stands over all is of the one that was measured last."""
    order = {case.attack: place for place, case in enumerate(CASES)}
    rows = sorted(rows, key=lambda one: (one["rows"], order[one["attack"]]))
    last = max((one["provenance"] for one in rows), key=lambda made: made["time"])
    total = sum(one["cpu_seconds"] for one in rows)
    result = {"rows": rows, "cipher": "sealed", "cpu_seconds": total, "provenance": last}
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    write_page()


if __name__ == "__main__":
    sys.exit(main())
