"""Gradients larger than memory, through a run on disk, a view and the process of an attack: what each of them takes.

Every stage is a fresh process, so that its peak is its own. Peaks are of all resident memory (VmHWM), with the pages of
mapped files: what a system that kills large processes counts.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from fedleak.core.adversary import Secret, SecretKind
from fedleak.core.arrays import AnyArray
from fedleak.core.errors import MissingExtraError, RunError
from fedleak.core.facts import Facts
from fedleak.core.payload import Array, Tree
from fedleak.core.transcript import Message
from fedleak.core.view import View
from fedleak.core.whole.run import Run
from fedleak.core.whole.truth import Truth
from fedleak.storage.capture_and_truth import DiskSink, load_capture
from fedleak.trial.conversation import Limits
from fedleak.trial.isolation import Isolation, can_isolate
from fedleak.trial.provenance import environment
from fedleak.trial.reading_probe import ReadingProbe, Tally, tally

MB = 1_000_000
N_MESSAGES = 2000
N_QUICK_MESSAGES = 200
LAYERS = {"conv.weight": (64, 32, 5, 5), "dense.weight": (1000, 698), "dense.bias": (800,)}  # 3 MB of float32
OTHERS_EVERY = 10  # after so many messages, one between parties outside the coalition
COALITION = ("server",)
TARGET = Secret(SecretKind.LABELS, "client")
FACTS = Facts("horizontal", ())
DISK_SHARE = 2.2  # the run, with what is not the coalition's, and the view's copy for the process of the attack


@dataclass(frozen=True)
class Took:
    """One stage. ``peaks``: bytes of memory, by process."""

    read: Tally
    seconds: float
    cpu_seconds: float
    peaks: Mapping[str, int] = field(default_factory=dict)


def measure(*, quick: bool = False, n_messages: int | None = None) -> Mapping[str, object]:
    """A ratio is the bytes that passed over the peak of the largest process: above 1, less than all was ever held."""
    count = n_messages or (N_QUICK_MESSAGES if quick else N_MESSAGES)
    _check_system()
    with tempfile.TemporaryDirectory(prefix="fedleak-stream-") as place:
        _check_room(place, count)
        folder = Path(place) / "run"
        stages = {name: _in_fresh_process(stage, folder, count) for name, stage in STAGES.items()}
    if len({(took.read.n_messages, took.read.total) for took in stages.values()}) != 1:
        raise RunError(f"all stages must have read the same numbers; got {[took.read for took in stages.values()]}")
    return {
        "bench": "stream",
        **{f"{name}_ratio": took.read.n_bytes / max(took.peaks.values()) for name, took in stages.items()},
        "sides": {"data": _data_figures(stages["written"].read), **{name: _figures(t) for name, t in stages.items()}},
        "environment": environment(quick=quick, memory="peak of all resident memory of a process, mapped files too"),
    }


def _gradients(count: int) -> Iterator[Message]:
    rng = np.random.default_rng(7)
    base = {name: rng.standard_normal(shape, dtype=np.float32) for name, shape in LAYERS.items()}
    for number in range(count):
        yield _message(base, number, "server")
        if number % OTHERS_EVERY == 0:
            yield _message(base, number, "neighbour")


def _message(base: Mapping[str, AnyArray], number: int, to: str) -> Message:
    layers = {name: Array(values * np.float32(number + 1)) for name, values in base.items()}
    return Message("train.gradient", number, "client", to, Tree(layers))


def _written(folder: Path, count: int) -> Took:
    sent, began = Tally(), _clocks()
    with DiskSink(folder) as sink:
        for message in _gradients(count):
            sink.message(message)
            if message.concerns(frozenset(COALITION)):
                sent.add(message)
        sink.finish(FACTS)
    return Took(sent, *_since(began), _own_peak())


def _viewed(folder: Path, _: int) -> Took:
    began = _clocks()
    read = tally(_view(folder).messages)
    return Took(read, *_since(began), _own_peak())


def _attempted(folder: Path, _: int) -> Took:
    """CPU seconds are of this process, which copies, and of the attack; a copy of the view lies on disk meanwhile."""
    began, view = _clocks(), _view(folder)
    isolation = Isolation()
    with closing(isolation):
        isolation.preload([ReadingProbe])
        chamber = isolation.chamber(view)
        guess, spent = chamber.timed_attempt(ReadingProbe, view, rng=np.random.default_rng(7), limits=Limits())
        seconds, cpu_seconds = _since(began)
        peaks = {**_own_peak(), "view_process": max(_peaks_below(os.getpid()))}
    told = {name: value for name, value in guess.evidence.items() if isinstance(value, int | float)}
    read = Tally(int(told["n_messages"]), int(told["n_bytes"]), told["total"])
    peaks["attempt"] = int(told["peak_bytes"])
    return Took(read, seconds, cpu_seconds + (spent.cpu_seconds if spent else 0.0), peaks)


STAGES: Mapping[str, Callable[[Path, int], Took]] = {"written": _written, "viewed": _viewed, "attempted": _attempted}


def _view(folder: Path) -> View:
    captured = load_capture(folder)
    return Run(captured.transcript, captured.locals, Truth({})).view(COALITION, TARGET, FACTS)


def _in_fresh_process(stage: Callable[[Path, int], Took], folder: Path, count: int) -> Took:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(stage, folder, count).result()


def _clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _since(began: tuple[float, float]) -> tuple[float, float]:
    return time.perf_counter() - began[0], time.process_time() - began[1]


def _own_peak() -> dict[str, int]:
    return {"own": _status(Path("/proc/self/status"))["VmHWM"] * 1024}


def _peaks_below(process: int) -> Iterator[int]:
    """Of the processes that this one started, and those that they did."""
    for path in Path("/proc").glob("[0-9]*/status"):
        found = _status(path)
        if found.get("PPid") == process:
            yield found.get("VmHWM", 0) * 1024
            yield from _peaks_below(int(path.parent.name))


def _status(path: Path) -> dict[str, int]:
    try:
        lines = path.read_text(encoding="utf-8")
    except OSError:  # a process that has just ended
        return {}
    return {name: int(number) for name, number in re.findall(r"^(VmHWM|PPid):\s+(\d+)", lines, re.MULTILINE)}


def _check_system() -> None:
    if not can_isolate() or not _status(Path("/proc/self/status")):
        raise MissingExtraError("bench stream needs Linux with /proc, which tells the peak memory of a process")


def _check_room(place: str, count: int) -> None:
    needed = int(count * 3 * MB * DISK_SHARE)
    free = shutil.disk_usage(place).free
    if free < needed:
        raise RunError(
            f"{place} must have {needed // MB} MB free; got {free // MB}. Set TMPDIR to a larger disk, or use --quick"
        )


def _data_figures(sent: Tally) -> dict[str, float]:
    return {"messages": sent.n_messages, "mb": sent.n_bytes / MB}


def _figures(took: Took) -> dict[str, float]:
    peaks = {f"{process}_peak_mb": peak / MB for process, peak in took.peaks.items()}
    speed = took.read.n_bytes / MB / took.seconds
    return {**peaks, "seconds": took.seconds, "cpu_seconds": took.cpu_seconds, "mb_per_second": speed}
