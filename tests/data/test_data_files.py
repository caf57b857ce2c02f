"""The rule that tests with real data follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from data_files import require_data


@pytest.mark.usefixtures("no_folder")
def test_without_the_folder_a_test_skips() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"FEDLEAK_DATA is not set"):
        require_data("iris")


def test_with_the_folder_a_missing_file_is_a_failure(data_folder: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"holds no iris"):
        require_data("iris")
    (data_folder / "iris.csv").write_text("a\n1\n")
    assert require_data("iris") == data_folder / "iris.csv"
