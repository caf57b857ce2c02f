"""Fresh environments with the newest and with the oldest allowed dependencies, on every Python that is here.

In each the package is installed from this tree, and the built-in audit runs with a few commands beside it. Oldest are
the lower bounds of pyproject.toml themselves, so a bound that no longer works shows. Exit code 1 where anything fails.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MANAGED = Path.home() / ".pyenv" / "versions"
SMOKE = (
    ("--version",),
    ("list", "attacks"),
    ("check",),
    ("audit", "--out", "audit", "--repeats", "1"),
    ("report", "audit"),
    ("inspect", "audit/transcripts/no-defense"),
)


def oldest(python: str) -> Iterator[str]:
    """The lower bound of every runtime dependency, as a pin; what they need in turn is left to the installer."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    for wanted in map(Requirement, listed):
        if wanted.marker is None or wanted.marker.evaluate({"python_version": python}):
            bound = next(one.version for one in wanted.specifier if one.operator == ">=")
            yield f"{wanted.name}=={bound}.*"


def interpreters(wanted: Sequence[str], managed: Path = MANAGED) -> dict[str, str | None]:
    """Those that run, and None for those that are not here. A version manager's shim runs only the version that is
    chosen, so what it has installed is looked up too."""
    found: dict[str, str | None] = {}
    for version in wanted:
        name = f"python{version}"
        on_path = shutil.which(name)
        places = [on_path] * bool(on_path) + [str(path) for path in managed.glob(f"{version}.*/bin/{name}")]
        found[version] = next((place for place in places if place and _runs(place)), None)
    return found


def _runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def tried(python: str, pins: Sequence[str], folder: Path) -> str:
    """What failed first; empty where all went well."""
    subprocess.run([python, "-m", "venv", folder / "env"], check=True)
    inside = str(folder / "env" / "bin" / "python")
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps = [[*pip, "--only-binary", ":all:", *pins], [*pip, str(ROOT)]] if pins else [[*pip, str(ROOT)]]
    steps += [[inside, "-m", "fedleak", *command] for command in SMOKE]
    for step in steps:
        done = subprocess.run(step, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = [line for line in done.stderr.strip().splitlines() if not line.startswith("WARNING")]
            return f"{' '.join(step[1:])}: {said[-1] if said else done.returncode}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="*", default=PYTHONS, help="versions, such as 3.12")
    parser.add_argument("--only", choices=["newest", "oldest"], help="one of the two")
    given = parser.parse_args()
    failed = False
    for version, python in interpreters(given.python).items():
        if python is None:
            print(f"Python {version}: not here, NOT TRIED", flush=True)
            continue
        for kind, pins in {"newest": [], "oldest": list(oldest(version))}.items():
            if given.only in (None, kind):
                with tempfile.TemporaryDirectory(prefix="matrix-") as folder:
                    wrong = tried(python, pins, Path(folder))
                print(f"Python {version}, {kind}: {wrong or 'passed'}", flush=True)
                failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
