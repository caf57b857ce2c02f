"""Packages of others, installed without a network and without a build backend.

What an installer leaves behind is written by hand: the package's files, and beside them a ``.dist-info`` folder whose
entry points are those of the package's own ``pyproject.toml``. ``importlib.metadata`` finds it on ``sys.path``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path

import fedleak

PACKAGE = Path(__file__).parent / "package"
SOURCE = Path(fedleak.__file__).parents[1]
# An environment that was made before the plug-in has no entry point for it.
PLUGIN = [] if entry_points(group="pytest11", name="fedleak") else ["-p", "fedleak.testing.pytest_plugin"]


def install(site: Path) -> None:
    """The sample package."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    shutil.copytree(PACKAGE / "fedleak_sample", site / "fedleak_sample")
    write_metadata(site, project["name"], project["version"], project["entry-points"])


def write_metadata(site: Path, name: str, version: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in found.items())
        for group, found in groups.items()
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines))


def python(*arguments: object, path: list[Path], cwd: Path) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter that has these folders, and ours, on its path."""
    found = os.pathsep.join(str(folder) for folder in (*path, SOURCE))
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": found},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
