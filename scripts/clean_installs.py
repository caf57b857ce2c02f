"""Wheel and sdist, as somebody who never saw this tree has them: clean environments, another folder, a first day.

Each is installed with its runtime dependencies alone, and must bring nothing large that only extras need; then the
commands of a newcomer run, from a folder that is not ours. Exit code 1 where anything fails. Needs a package index.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

from supply import ROOT, built

COMMANDS = (
    ("--version",),
    ("list", "attacks"),
    ("check",),
    ("reproduce", "luo2021"),
    ("benchmark", "views"),
    ("audit", "--out", "audit", "--repeats", "1", "--set", "cipher=sealed"),
    ("report", "audit"),
)
LARGE = ("torch", "xgboost", "pyarrow", "matplotlib", "mkdocs", "distributed")  # what nobody asked for


def run(*arguments: str | Path, cwd: Path) -> str:
    done = subprocess.run([*map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, arguments))}\n{done.stdout[-1000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, commands in zip(sorted(built(folder / "build")), (COMMANDS, COMMANDS[:1]), strict=True):
            print(file)
            try_out(folder / "build" / "dist" / file, folder / file.rpartition(".")[2], commands)
    return 0


def try_out(file: Path, folder: Path, commands: Sequence[tuple[str, ...]]) -> None:
    venv.create(folder / "env", with_pip=True)
    binaries, elsewhere = folder / "env" / "bin", folder / "elsewhere"
    elsewhere.mkdir()
    pip = (binaries / "python", "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", "--constraint", ROOT / "constraints.txt", file, cwd=elsewhere)
    there = run(*pip, "list", "--format=freeze", cwd=elsewhere).lower().splitlines()
    unasked = [line for line in there if line.startswith(LARGE)]
    if unasked:
        raise SystemExit(f"{file.name} must not bring what only extras need; it brought {', '.join(unasked)}")
    for command in commands:
        told = run(binaries / "fedleak", *command, cwd=elsewhere)
        print(f"  fedleak {' '.join(command)}: {len(told.splitlines())} lines")
    run(binaries / "python", "-c", "import fedleak; assert 'site-packages' in fedleak.__file__", cwd=elsewhere)


if __name__ == "__main__":
    sys.exit(main())
