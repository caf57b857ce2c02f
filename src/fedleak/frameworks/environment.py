"""An isolated Python environment a framework, made once and kept: frameworks' pins clash with one another and with us.

fedleak itself is linked into it without its dependencies. A marker is written last: an environment without it was
interrupted while it was made, and is made anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from fedleak.core.errors import InputError, RunError
from fedleak.frameworks.children import last_line, run_to_end
from fedleak.frameworks.recipe import Recipe, check_python

MARKER = "fedleak-complete"
HOME = "FEDLEAK_FRAMEWORKS"
INSTALL_LIMIT = 3600.0
Say = Callable[[str], None]


def home() -> Path:
    """Where environments are kept."""
    chosen = os.environ.get(HOME)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fedleak" / "frameworks"


def place_of(recipe: Recipe) -> Path:
    return home().absolute() / recipe.environment


def is_ready(recipe: Recipe) -> bool:
    return (place_of(recipe) / MARKER).exists()


def ready(recipe: Recipe, python: Path | None, say: Say) -> Path:
    """The environment's interpreter; the environment is made where there is none."""
    place = place_of(recipe)
    if not is_ready(recipe):
        interpreter = str(python or sys.executable)
        check_python(recipe, version_of(interpreter))
        say(
            f"{recipe.title} {recipe.version}: makes an environment in {place}, once; about {recipe.megabytes} MB and "
            f"{recipe.install_seconds} seconds"
        )
        _make(recipe, place, interpreter)
    _link_fedleak(place)
    return place / "bin" / "python"


def version_of(interpreter: str) -> str:
    code = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
    try:
        found = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"--python must be a Python interpreter; {interpreter} does not run") from error
    return found.stdout.strip()


def _make(recipe: Recipe, place: Path, interpreter: str) -> None:
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    log = place.with_name(f"{place.name}.log")
    try:
        made = run_to_end(
            [interpreter, "-m", "venv", str(place)], what="venv", seconds=INSTALL_LIMIT, log=log, cwd=place.parent
        )
        lock = place / "lock.txt" if place.is_dir() else log
        code = made or _install(recipe, place, lock, log)
        if code:
            raise RunError(f"{recipe.title} {recipe.version} could not be installed: {last_line(log)} ({log})")
        (place / MARKER).write_text(recipe.lock, encoding="utf-8")
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    log.unlink(missing_ok=True)


def _install(recipe: Recipe, place: Path, lock: Path, log: Path) -> int:
    """Exactly the locked versions: none of them brings others along."""
    lock.write_text(recipe.lock, encoding="utf-8")
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command = [*pip, "--requirement", str(lock)]
    return run_to_end(command, what="the installation", seconds=INSTALL_LIMIT, log=log, cwd=place)


def _link_fedleak(place: Path) -> None:
    """This very package, in place: an environment never has an older one."""
    package = Path(__file__).parents[1]
    (site,) = (place / "lib").glob("python3.*/site-packages")
    link = site / "fedleak"
    if link.is_symlink() and link.resolve() == package.resolve():
        return
    link.unlink(missing_ok=True)
    link.symlink_to(package, target_is_directory=True)
