"""Temporary folders go with who has them; runs in them can be read as long as somebody has them."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.transcript import Message
from fedleak.storage import own_folder
from fedleak.storage.capture_and_truth import TEMPORARY, TemporarySink
from fedleak.storage.own_folder import OwnFolder


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_goes_when_it_is_removed_or_when_nobody_has_it(place):
    kept, dropped = OwnFolder("mine-"), OwnFolder("mine-")
    assert kept.path.is_dir()
    assert dropped.path.is_dir()
    del dropped
    gc.collect()
    assert list(place.iterdir()) == [kept.path]
    kept.remove()
    kept.remove()  # twice is once
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_goes_and_what_is_held_stays(place, monkeypatch):
    monkeypatch.setattr(own_folder, "SETTLED_SECONDS", -1)
    (place / "mine-left").mkdir()
    (place / "other-left").mkdir()
    held = OwnFolder("mine-")
    another = OwnFolder("mine-")
    assert {folder.name for folder in place.iterdir()} == {"other-left", held.path.name, another.path.name}


def test_a_run_in_a_temporary_folder_is_read_from_there_and_takes_it_along(place):
    with TemporarySink() as sink:
        sink.message(Message("gradient", 3, "a", "b", Array(np.arange(5.0))))
        captured = sink.finish(Facts("toy", ()))
    assert [folder.name.startswith(TEMPORARY) for folder in place.iterdir()] == [True]
    (message,) = captured.transcript.messages
    assert np.array_equal(message.payload.values, np.arange(5.0))
    del captured, message, sink
    gc.collect()
    assert os.listdir(place) == []


def test_a_run_that_fails_leaves_nothing(place):
    with pytest.raises(ZeroDivisionError), TemporarySink():
        raise ZeroDivisionError
    assert os.listdir(place) == []
