"""Print docs/captures.md: every attack runs on its positive control, and what it reads is noted. Takes a minute.

python scripts/captures_page.py > docs/.captures.md && mv docs/.captures.md docs/captures.md
"""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "contracts")]

from reading import read_by  # type: ignore[import-not-found]  # noqa: E402

from fedleak.attacks import ATTACKS  # noqa: E402
from fedleak.auditing.captures_reference import captures_reference, names_read  # noqa: E402


def page() -> str:
    return captures_reference({name: names_read(read_by(name)) for name in ATTACKS.names})


if __name__ == "__main__":
    sys.stdout.write(page())
