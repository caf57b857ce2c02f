from __future__ import annotations

from pathlib import Path

import pytest
from installed import install


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages that holds the sample."""
    folder = tmp_path_factory.mktemp("site")
    install(folder)
    return folder
