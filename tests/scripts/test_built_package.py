"""What is published: the wheel and the sdist of this tree, and the wheel installed and used from another folder.

What it takes is lent by the environment of the tests; ``scripts/clean_installs.py`` fetches that as well.
"""

from __future__ import annotations

import hashlib
import site
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import fedleak

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "fedleak"


def build(tree: Path, out: Path, *kind: str) -> Path:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(out), *kind], cwd=tree, check=True)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"), "-t", "wheel")


def test_a_wheel_has_every_file_of_the_package_and_nothing_else(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    here = {path for path in SOURCES.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert inside == {path.relative_to(SOURCES.parent).as_posix() for path in here}


def test_an_sdist_gives_the_same_wheel(wheel, tmp_path):
    sdist = build(ROOT, tmp_path / "sdist", "-t", "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "tree", filter="data")
    (tree,) = (tmp_path / "tree").iterdir()
    again = build(tree, tmp_path / "again", "-t", "wheel")
    assert hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=False)
    python = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, capture_output=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "lent.pth").write_text("\n".join(site.getsitepackages()), encoding="utf-8")
    return folder / "bin"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (("--version",), fedleak.__version__),
        (("list", "attacks"), "residual-sign"),
        (("check",), "residual"),
        (("audit", "--out", "audit", "--repeats", "1", "--set", "cipher=sealed", "--set", "max_rows=100"), "leak"),
    ],
)
def test_a_wheel_works_from_another_folder(installed, tmp_path, command, told):
    done = subprocess.run([str(installed / "fedleak"), *command], cwd=tmp_path, stdout=subprocess.PIPE, check=True)
    assert told in done.stdout.decode().lower()


def test_what_runs_there_is_what_was_installed(installed, tmp_path):
    found = subprocess.run(
        [str(installed / "python"), "-c", "import fedleak; print(fedleak.__file__)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(found.stdout.strip()).is_relative_to(installed.parent)
