"""200 cells, swept by joblib's processes and on a Dask cluster of two workers; one worker and then a whole sweep are
killed halfway. Every store must hold the same bytes, and what a store holds is not computed again.

``python scripts/sweep_faults.py`` takes a few minutes and writes docs/results/sweep.json; exit code 1 where a store
differs. The tests do the same on six cells.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from dask_processes import DaskProcesses
from fedleak.sweeps.store import STORE
from fedleak.trial.provenance import code_state, one_thread, provenance

RESULT = Path(__file__).parents[1] / "docs" / "results" / "sweep.json"
N_SEEDS = 10  # x 5 attacks x 2 defenses x 2 batch sizes
GRID = """
seed = 7
repeats = 1
[base]
seed = 0
[base.data]
source = "sklearn:breast_cancer"
scaling = "standard+max-row-norm"
max_rows = 100
[base.federation]
protocol = "vertical-logistic"
cipher = "sealed"
batch_size = 8
epochs = 2
learning_rate = 0.1
partition = {by = "ratio"}
parties = [{name = "bank", role = "active", n_columns = 7}, {name = "fintech", role = "passive", n_columns = 23}]
[grid]
adversary = ["fintech"]
attack = ["residual-sign", "residual-recovery", "own-weights", "minimum-norm-labels", "bounded-score-labels"]
defense = ["none", {name = "gaussian-noise", sigma = 200.0}]
"federation.batch_size" = [8, 16]
seed = SEEDS
"""
Account = dict[str, Any]


def kept(out: Path) -> dict[str, str]:
    """Inputs and reports by key: all that must be the same, whoever computed it. Times stand in other columns."""
    try:
        with closing(sqlite3.connect(out / STORE, timeout=60)) as opened:
            return dict(opened.execute("SELECT key, inputs || report FROM results ORDER BY key"))
    except sqlite3.OperationalError:  # not there yet
        return {}


def swept(
    grid: Path, out: Path, *more: str, when: int = 0, then: Callable[[Any], None] | None = None
) -> dict[str, Any]:
    """The command's own account of it; once the store has ``when`` results, ``then`` is done to its process."""
    told = out.with_suffix(".json")
    command = [sys.executable, "-m", "fedleak", "sweep", str(grid), "--out", str(out), "--json", str(told), *more]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if then is not None:
        while len(kept(out)) < when and process.poll() is None:
            time.sleep(0.02)
        if process.poll() is None:
            then(process)
    _, said = process.communicate()
    if process.returncode < 0:
        return {"killed_at": len(kept(out))}
    if process.returncode:
        raise RuntimeError(f"the sweep must end with 0; got {process.returncode}: {said}")
    account = json.loads(told.read_text(encoding="utf-8"))
    return {name: account[name] for name in ("cells", "from_store", "computed", "failed", "seconds", "cpu_seconds")}


def tried(grid: Path, folder: Path) -> Account:
    """Each way of doing it, with its account and whether it came to the bytes of the undisturbed one."""
    plain, disturbed, resumed = folder / "plain", folder / "disturbed", folder / "resumed"
    ways = {"joblib, 2 processes": swept(grid, plain, "--jobs", "2")}
    ways["the same again"] = swept(grid, plain, "--jobs", "2")
    half = ways["joblib, 2 processes"]["cells"] // 2
    with DaskProcesses(folder, 2) as cluster:
        on_dask = ("--engine", cluster.engine)
        ways["Dask, 2 workers, one killed halfway"] = swept(
            grid, disturbed, *on_dask, when=half, then=lambda _: cluster.kill_worker()
        )
        cluster.add_worker()
        ways["Dask, 2 workers, the sweep killed halfway"] = swept(
            grid, resumed, *on_dask, when=half, then=lambda process: process.kill()
        )
        ways["gone on with"] = swept(grid, resumed, *on_dask)
        ways["a second time"] = swept(grid, resumed, *on_dask)
    wanted = kept(plain)
    same = {out.name: kept(out) == wanted for out in (disturbed, resumed)}
    return {"cells": len(wanted), "ways": ways, "same_bytes": same}


def is_good(found: Mapping[str, Any]) -> bool:
    """Nothing lost, nothing different, nothing computed twice."""
    ways = found["ways"]
    again = (ways["the same again"], ways["a second time"])
    whole = ways["gone on with"]
    return (
        all(found["same_bytes"].values())
        and all(one["computed"] == 0 for one in again)
        and 0 < whole["from_store"] < found["cells"] == whole["from_store"] + whole["computed"]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help="of the grid; cells are 20 times as many")
    parser.add_argument("--no-file", action="store_true", help="write no result")
    options = parser.parse_args()
    code, load = code_state(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        grid = Path(name) / "grid.toml"
        grid.write_text(GRID.replace("SEEDS", str(list(range(options.seeds)))), encoding="utf-8")
        with one_thread():
            found = tried(grid, Path(name))
            made = provenance(code)
    for way, account in found["ways"].items():
        print(f"{way}: {', '.join(f'{name} {figure:.4g}' for name, figure in account.items())}")
    good = is_good(found)
    spent = sum(account.get("cpu_seconds", 0.0) for account in found["ways"].values())
    print(f"{found['cells']} cells; {'the same bytes every time' if good else 'NOT the same'}")
    if not options.no_file:
        result = {"grid": GRID, **found, "cpu_seconds": spent, "load_before": round(load, 2), "provenance": made}
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
