"""Shared by all tests: one Hypothesis profile, and the rule about data that is not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("fedleak", derandomize=True, deadline=None, max_examples=40)
settings.load_profile("fedleak")


@pytest.fixture
def data_file():
    """Path of a file in FEDLEAK_DATA; without that folder the test skips, with it a missing file fails."""

    def find(name: str) -> Path:
        folder = os.environ.get("FEDLEAK_DATA")
        if not folder:
            pytest.skip(f"FEDLEAK_DATA is not set, so {name} is not there")
        path = Path(folder) / name
        if not path.is_file():
            pytest.fail(f"FEDLEAK_DATA is set, but {name} is not in it")
        return path

    return find
