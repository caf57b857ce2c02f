"""Known vulnerabilities in what the project is pinned to, by ``pip-audit``, where it can look them up.

pip-audit is installed into an environment of its own. It ends with 0 over packages that it could not look up, so what
it says is counted here: exit code 0 where every pin was looked up and none has a known vulnerability, 1 where one has,
4 where some could not be looked up, which is no good news. torch is left out, as it is of constraints-hashed.txt.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

PINS = Path(__file__).parents[1] / "constraints-hashed.txt"
CLEAN, FOUND, NOT_LOOKED_UP = 0, 1, 4
HOW = ("--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off", "--timeout", "15")


def judged(packages: Sequence[Mapping[str, Any]]) -> tuple[int, list[str]]:
    """Exit code and lines of what pip-audit says of each package."""
    missing = [one["name"] for one in packages if "skip_reason" in one]
    lines = list(_vulnerabilities(packages))
    code = FOUND if lines else NOT_LOOKED_UP if missing or not packages else CLEAN
    if missing or not packages:
        lines.append(f"NOT LOOKED UP: {len(missing)} of {len(packages)} pins; nothing is known about them. {REMEDY}")
    lines.append(f"{len(packages) - len(missing)} pins looked up")
    return code, lines


REMEDY = "Run this where the package index's list of vulnerabilities can be reached"


def _vulnerabilities(packages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for package in packages:
        for found in package.get("vulns", ()):
            mended = ", ".join(found["fix_versions"]) or "no version yet"
            yield f"{package['name']} {package['version']}: {found['id']}, mended in {mended}"


def told(folder: Path) -> list[Mapping[str, Any]]:
    """What pip-audit says of every pin; nothing where it cannot be had or says nothing."""
    venv.create(folder / "env", with_pip=True)
    inside = str(folder / "env" / "bin" / "python")
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pip-audit"]
    if subprocess.run(pip, capture_output=True, check=False).returncode:
        return []
    asked = [inside, "-m", "pip_audit", *HOW, "--requirement", str(PINS)]
    said = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    try:
        found: list[Mapping[str, Any]] = json.loads(said)["dependencies"]
    except json.JSONDecodeError:  # it ended before it could answer
        return []
    return found


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="advisories-") as folder:
        code, lines = judged(told(Path(folder)))
    print("Known vulnerabilities:", *lines, sep="\n  ")
    return code


if __name__ == "__main__":
    sys.exit(main())
