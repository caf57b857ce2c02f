"""A small run of our own, to be captured."""

from __future__ import annotations

import pytest

from federations import run, sealed, vertical
from fedleak.core.whole.federation import Federation
from fedleak.core.whole.run import Run


@pytest.fixture(scope="module")
def small() -> tuple[Federation, Run]:
    federation = vertical({"bank": 3, "fintech": 8}, sealed(epochs=2))
    return federation, run(federation)
