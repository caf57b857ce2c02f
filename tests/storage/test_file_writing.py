"""A single file is there whole, or as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedleak.core.errors import InputError
from fedleak.models import LinearModel
from fedleak.models.interpret import load_model, save_model
from fedleak.papers.experiment import Curve, Panel
from fedleak.papers.panels import draw
from fedleak.storage.file_writing import check_writable, write_text, written_whole

MODEL = LinearModel(("a", "b"), np.ones((2, 2)), np.zeros(2))


def save_some_model(path: Path) -> None:
    save_model(MODEL, path)


def draw_a_line(path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw([Panel("one", "x", "y", [Curve("ours", [0.0, 1.0], [0.0, 1.0])])], path)


def write_a_word(path: Path) -> None:
    write_text(path, "a word")


every_writer = pytest.mark.parametrize("write", [save_some_model, draw_a_line, write_a_word])


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, ValueError])
def test_whatever_fails_half_way_the_older_file_stays_and_nothing_lies_beside_it(failure, tmp_path):
    path = tmp_path / "result.json"
    path.write_text("older")

    def half_way() -> None:
        with written_whole(path) as temporary:
            temporary.write_text("half")
            assert temporary.suffix == path.suffix, "drawing goes by the ending"
            raise failure

    with pytest.raises(InputError if failure is OSError else failure):
        half_way()
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


@every_writer
def test_a_file_in_a_new_folder_replaces_nothing_and_leaves_nothing_beside_it(write, tmp_path):
    path = tmp_path / "new" / "result.svg"
    write(path)
    assert path.stat().st_size > 0
    write(path)
    assert list(path.parent.iterdir()) == [path]


@every_writer
def test_a_place_that_cannot_be_written_is_one_clear_error(write, tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "result.svg"):
        with pytest.raises(InputError, match="must be a file that can be written"):
            write(place)
        with pytest.raises(InputError, match="must be a file that can be written"):
            check_writable(place)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_model_is_saved_under_the_very_name_that_was_given(tmp_path):
    save_model(MODEL, tmp_path / "model.of-ours")
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.of-ours"]
    assert load_model(tmp_path / "model.of-ours").columns == MODEL.columns
