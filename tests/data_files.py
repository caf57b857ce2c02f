"""Real data files for tests, looked for in the folder that FEDLEAK_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fedleak.data.sources.catalogue import FOLDER_VARIABLE, find_in_folder


def require_data(name: str) -> Path:
    """The file of a public data set. Without FEDLEAK_DATA the test skips; with it, a missing file is a failure."""
    if not os.environ.get(FOLDER_VARIABLE):
        pytest.skip(f"{FOLDER_VARIABLE} is not set, and {name} is read from there")
    path = find_in_folder(name)
    if path is None:
        pytest.fail(f"{FOLDER_VARIABLE} is set but holds no {name}")
    return path
