"""What a result depended on besides its inputs: code, versions, machine, arithmetic library, data files."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from fedleak.core.payload import ScalarValue
from fedleak.core.version import __version__
from fedleak.data.sources import files_read

PACKAGES = ("numpy", "scipy", "scikit-learn", "gmpy2", "pandas")
IN_ATTACKS = ("python-flint", "torch")  # loaded where attacks run, not here
CODE = ("src", "scripts", "pyproject.toml", "constraints.txt")
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def environment(**extra: ScalarValue) -> dict[str, ScalarValue]:
    found: dict[str, ScalarValue] = {"fedleak": __version__, **_commit(), "python": platform.python_version()}
    for package in PACKAGES:
        found[package] = package_version(package)
    found["machine"] = _machine()
    found["time"] = _now()
    return {**found, **extra}


@cache
def _commit() -> dict[str, ScalarValue]:
    """Nothing for an installed package, whose version says it. Asked once, before anything runs."""
    state = code_state()
    if state["commit"] is None:
        return {}
    return {"commit": f"{state['commit']}{' and changes since' if state['uncommitted_changes'] else ''}"}


def code_state() -> dict[str, object]:
    """Of the checkout that this code is in, and whether the code is as it was committed; None for an installed one.

    To be asked before a long run: the checkout may be another one at its end, and the code that runs is not.
    """
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return {"commit": None, "uncommitted_changes": None}
    commit, changes = _git(root, "rev-parse", "HEAD"), _git(root, "status", "--porcelain", "--", *CODE)
    return {"commit": commit or None, "uncommitted_changes": None if changes is None else bool(changes)}


def provenance(code: Mapping[str, object] | None = None) -> dict[str, object]:
    """Of a figure that somebody wants to get again. What cannot be found out is None, never left out."""
    return {
        **(code or code_state()),
        "cpu": _cpu_model(),
        "machine": _machine(),
        "blas": _libraries(),
        "versions": _versions(),
        "data_sha256": data_read(),
        "time": _now(),
    }


def data_read() -> dict[str, str | None]:
    """Digests of the files that this process has read until now."""
    return {path.name: _digest(path) for path in files_read()}


def this_machine() -> str:
    return f"{_cpu_model() or 'a processor without a name'}, {_machine()}"


def _machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums in one order: with several threads the last digits depend on how many there are, and training carries that
    on. Attacks run so anyway. Libraries that are loaded later learn it from the environment."""
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        with threadpool_limits(1):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def package_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _versions() -> dict[str, str | None]:
    """Of everything that is loaded, and of what attacks load in their own processes."""
    homes = packages_distributions()
    loaded = {home for name in {name.partition(".")[0] for name in sys.modules} for home in homes.get(name, ())}
    names = sorted({*loaded, *PACKAGES, *IN_ATTACKS} - {"fedleak"}, key=str.lower)
    return {
        "fedleak": __version__,
        "python": platform.python_version(),
        **{name: package_version(name) for name in names},
    }


def _libraries() -> list[dict[str, ScalarValue]]:
    """Of the arithmetic: which, for what processor it was tuned when it was loaded, on how many threads."""
    from threadpoolctl import threadpool_info

    return [
        {
            "library": str(found["prefix"]),
            "version": found.get("version"),
            "kernel": found.get("architecture"),
            "threads": int(found["num_threads"]),
        }
        for found in threadpool_info()
    ]


def _cpu_model() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None
    told = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {name.strip(): value.strip() for name, value in told.items()}
    if "model name" not in fields:
        return platform.processor() or None
    numbers = ", ".join(f"{name} {fields[name]}" for name in ("cpu family", "model", "stepping") if name in fields)
    return f"{fields['model name']} ({numbers})"


def _digest(path: Path) -> str | None:
    """None for a file that is gone: a result is not lost because its data were moved while it was computed."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
