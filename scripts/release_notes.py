"""The notes of a release are its section of the changelog: ``python scripts/release_notes.py 0.1.0``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).parents[1] / "CHANGELOG.md"


def notes(changelog: str, version: str) -> str:
    """What stands below ``## VERSION`` (a date may follow it), up to the next version."""
    sections = re.split(r"^## +", changelog, flags=re.MULTILINE)[1:]
    found = {section.split(maxsplit=1)[0]: section.partition("\n")[2].strip() for section in sections}
    if version not in found:
        raise ValueError(f"version must have a section in the changelog ({', '.join(found)}); got {version!r}")
    if not found[version]:
        raise ValueError(f"version must have notes in the changelog; the section of {version} is empty")
    return found[version] + "\n"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: release_notes.py VERSION", file=sys.stderr)
        return 2
    try:
        print(notes(CHANGELOG.read_text(encoding="utf-8"), arguments[0]), end="")
    except ValueError as error:
        print(f"release_notes.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
