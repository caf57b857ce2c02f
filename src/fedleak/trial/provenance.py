"""What a result depended on besides its inputs: versions, machine, seeds."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from fedleak.core.payload import ScalarValue
from fedleak.core.version import __version__

PACKAGES = ("numpy", "scipy", "scikit-learn", "gmpy2", "pandas")


def environment(**extra: ScalarValue) -> dict[str, ScalarValue]:
    found: dict[str, ScalarValue] = {"fedleak": __version__, "python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    found["machine"] = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    found["time"] = datetime.now(UTC).isoformat(timespec="seconds")
    return {**found, **extra}
