"""Makes a release of what is unreleased: ``python scripts/bump_version.py 0.2.0``.

Writes the version where it stands (pyproject.toml, core/version.py, CITATION.cff) and puts its heading, with the date,
over the unreleased lines of the changelog, which are its notes (scripts/release_notes.py prints them).
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+")
UNRELEASED = "## Unreleased\n\n"


def changed(texts: dict[str, str], version: str, date: str) -> dict[str, str]:
    """The files as they are afterwards, by name."""
    if not VERSION.fullmatch(version):
        raise ValueError(f"version must be three numbers with dots; got {version!r}")
    log = texts["CHANGELOG.md"]
    if f"## {version}" in log or not log.partition(UNRELEASED)[2].startswith("- "):
        raise ValueError(f"the changelog must have unreleased lines and no section {version} yet")
    return {
        "CHANGELOG.md": log.replace(UNRELEASED, f"{UNRELEASED}## {version} ({date})\n\n", 1),
        "pyproject.toml": _once(r'^version = "[^"]+"$', f'version = "{version}"', texts["pyproject.toml"]),
        "src/fedleak/core/version.py": _once(
            r'^__version__ = "[^"]+"', f'__version__ = "{version}"', texts["src/fedleak/core/version.py"]
        ),
        "CITATION.cff": _once(r"^version: .+$", f"version: {version}", texts["CITATION.cff"]),
    }


def _once(pattern: str, new: str, text: str) -> str:
    found, count = re.subn(pattern, new, text, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{pattern} must stand once in the file; got {count}")
    return found


NAMES = ("CHANGELOG.md", "pyproject.toml", "src/fedleak/core/version.py", "CITATION.cff")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: bump_version.py VERSION", file=sys.stderr)
        return 2
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in NAMES}
    try:
        found = changed(texts, arguments[0], f"{datetime.now(UTC):%Y-%m-%d}")
    except ValueError as error:
        print(f"bump_version.py: {error}", file=sys.stderr)
        return 2
    for name, text in found.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
