"""Thousands of tensors stream to disk and back: little memory, few open files."""

from __future__ import annotations

import gc
import mmap
import os
import tracemalloc
from pathlib import Path

import numpy as np

from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Tree
from fedleak.core.transcript import EVERYONE, Message, Record
from fedleak.core.whole.run import Captured, Sink
from fedleak.storage import Limits, segments
from fedleak.storage.capture_and_truth import DiskSink, load_capture
from fedleak.storage.segments import _N_OPEN

FACTS = Facts("horizontal", ())
N_ROUNDS = 3000
SMALL_SEGMENTS = Limits(segment_bytes=10_000)


def _gradients(number: int) -> Tree:
    rng = np.random.default_rng(number)
    layers = {"conv1.weight": (8, 3, 3), "conv1.bias": (8,), "dense.weight": (4, 16)}
    return Tree({name: Array(rng.standard_normal(shape, dtype=np.float32)) for name, shape in layers.items()})


def _stream(sink: Sink, n_rounds: int) -> Captured:
    for number in range(n_rounds):
        sink.message(Message("train.gradient", number, "passive", EVERYONE, _gradients(number)))
        sink.record("passive", Record("train.batch", number, "rows", Array(np.arange(number, number + 4))))
    return sink.finish(FACTS)


def _open_files() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else len(os.listdir("/dev/fd"))


def test_thousands_of_trees(tmp_path: Path) -> None:
    with DiskSink(tmp_path / "run", limits=SMALL_SEGMENTS) as sink:
        captured = _stream(sink, N_ROUNDS)
    messages = captured.transcript.messages
    assert len(messages) == len(captured.locals["passive"]) == N_ROUNDS
    for number in (0, 1234, N_ROUNDS - 1):
        expected, found = _gradients(number), messages[number].payload
        assert isinstance(found, Tree)
        for name, array in expected.items.items():
            np.testing.assert_array_equal(found.items[name].values, array.values)
        assert captured.locals["passive"][number].value.values.tolist() == list(range(number, number + 4))


def test_few_files_are_open(tmp_path: Path) -> None:
    before = _open_files()
    with DiskSink(tmp_path / "run", limits=SMALL_SEGMENTS) as sink:
        for number in range(500):
            sink.message(Message("train.gradient", number, "passive", EVERYONE, _gradients(number)))
            assert number % 100 or _open_files() <= before + 2  # the index and one segment
        captured = sink.finish(FACTS)
    n_segments = len(list((tmp_path / "run" / "segments").iterdir()))
    total = sum(float(tree.payload.items["dense.weight"].values.sum()) for tree in captured.transcript.messages)
    assert np.isfinite(total)
    assert _open_files() <= before + 1 + _N_OPEN < before + n_segments
    del captured
    assert _open_files() == before


def test_little_memory(tmp_path: Path) -> None:
    """64 MiB go through; a few arrays' worth is held at a time."""
    block = np.ones(1 << 17)  # 1 MiB
    tracemalloc.start()
    try:
        with DiskSink(tmp_path / "run") as sink:
            for number in range(64):
                sink.message(Message("step", number, "active", "passive", Array(block + number)))
            captured = sink.finish(FACTS)
        means = [float(message.payload.values.mean()) for message in captured.transcript.messages]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert means == [1.0 + number for number in range(64)]
    assert peak < 8 << 20


def test_arrays_are_memory_maps(tmp_path: Path) -> None:
    with DiskSink(tmp_path / "run") as sink:
        captured = _stream(sink, 2)
    array = captured.transcript.messages[1].payload.items["dense.weight"].values
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    assert isinstance(array.obj if isinstance(array, memoryview) else array, mmap.mmap)


def test_arrays_outlive_everything_else(tmp_path: Path) -> None:
    with DiskSink(tmp_path / "run", limits=SMALL_SEGMENTS) as sink:
        _stream(sink, 400)
    held = [
        message.payload.items["conv1.bias"].values
        for message in load_capture(tmp_path / "run", limits=SMALL_SEGMENTS).transcript.messages
    ]
    gc.collect()
    np.testing.assert_array_equal(held[7], _gradients(7).items["conv1.bias"].values)


def test_arrays_in_use_keep_their_numbers_when_pages_are_given_back(tmp_path: Path, monkeypatch) -> None:
    given_back: list[object] = []
    give_back = segments._give_back
    monkeypatch.setattr(segments, "_give_back", lambda mapped: (given_back.append(mapped), give_back(mapped)))
    monkeypatch.setattr(segments, "_TOUCHED_BYTES", 1000)
    with DiskSink(tmp_path / "run") as sink:
        captured = _stream(sink, 40)
    held = [message.payload.items["dense.weight"].values for message in captured.transcript.messages]
    assert given_back
    for number, array in enumerate(held):
        np.testing.assert_array_equal(array, _gradients(number).items["dense.weight"].values)


def test_few_bytes_are_mapped(tmp_path: Path, monkeypatch) -> None:
    """A limit on an attack's memory counts all that is mapped."""
    monkeypatch.setattr(segments, "_MAPPED_BYTES", 3 * SMALL_SEGMENTS.segment_bytes)
    before = _open_files()
    with DiskSink(tmp_path / "run", limits=SMALL_SEGMENTS) as sink:
        captured = _stream(sink, 200)
    assert sum(1 for _ in captured.transcript.messages) == 200
    assert _open_files() <= before + 1 + 3 < before + _N_OPEN
    monkeypatch.setattr(segments, "_MAPPED_BYTES", 1)  # a segment that is larger by itself is read all the same
    assert sum(1 for _ in captured.transcript.messages) == 200
    assert _open_files() <= before + 1 + 1
