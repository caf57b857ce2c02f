"""How many random cases a property is tried on: few by default, as many as one likes by hand."""

from __future__ import annotations

import os

VARIABLE = "FEDLEAK_RANDOM_CASES"


def seeds(by_default: int) -> range:
    """``FEDLEAK_RANDOM_CASES=500`` tries the first 500 seeds instead."""
    return range(int(os.environ.get(VARIABLE, by_default)))
