"""A small grid that tests vary, and the sweep of it as a process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from scenarios import changed
from sweep_faults import kept

BASE = changed(("max_rows = 100", "max_rows = 60"), ("epochs = 4", "epochs = 1")).partition("[[defense]]")[0]
GRID = """
base = "base.toml"
seed = 7
repeats = 1
[grid]
adversary = ["fintech"]
attack = ["residual-sign"]
defense = ["none", {name = "gaussian-noise", sigma = 200.0}]
seed = [0, 1, 2]
"""


def written(folder: Path, grid: str = GRID) -> Path:
    (folder / "base.toml").write_text(BASE, encoding="utf-8")
    path = folder / "grid.toml"
    path.write_text(grid, encoding="utf-8")
    return path


def begun(grid: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fedleak", "sweep", str(grid), "--out", str(out), *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(out: Path, n_cells: int, process: subprocess.Popen[str]) -> None:
    while not out.is_dir() or len(kept(out)) < n_cells:
        assert process.poll() is None, process.stderr.read() if process.stderr else ""
        time.sleep(0.02)
