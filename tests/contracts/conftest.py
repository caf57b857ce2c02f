"""Servers that live as long as the tests: each takes a second to start."""

from __future__ import annotations

import pytest

from fedleak.testing.surroundings import surroundings


@pytest.fixture(scope="session")
def here(tmp_path_factory):
    with surroundings(tmp_path_factory.mktemp("here")) as found:
        yield found


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory):
    with surroundings(tmp_path_factory.mktemp("elsewhere")) as found:
        yield found
