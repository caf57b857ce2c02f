"""What passes between us and the script inside a framework's environment: a folder with tables and settings.

The script's side needs numpy and the standard library alone. Its standard input is a pipe from us, which never has
anything to read: when it closes we are gone, and the script ends with everything that it started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fedleak.core.arrays import AnyArray, FloatArray, IntArray
from fedleak.core.whole.federation import Party
from fedleak.frameworks.process_tree import below, end

JOB, ERROR = "job.json", "error.txt"
CAPTURE, TRUTH = "capture", "truth"


@dataclass(frozen=True, eq=False)
class Held:
    """What one party brings: its rows' ids, its cells, and labels where it has them."""

    name: str
    columns: tuple[str, ...]
    ids: IntArray
    cells: FloatArray
    labels: AnyArray | None


@dataclass(frozen=True, eq=False)
class Job:
    folder: Path
    version: str  # of the framework, as the recipe has it
    seed: int
    options: Mapping[str, Any]
    parties: tuple[Held, ...]


def write_job(folder: Path, version: str, seed: int, options: Mapping[str, Any], parties: Sequence[Party]) -> None:
    for number, party in enumerate(parties):
        own = party.train
        held = {"ids": own.ids, "cells": own.features} | ({} if own.labels is None else {"labels": own.labels})
        for name, values in held.items():
            np.save(folder / f"party{number}-{name}.npy", values, allow_pickle=False)
    names = [{"name": party.name, "columns": list(party.columns)} for party in parties]
    told = {"version": version, "seed": seed, "options": dict(options), "parties": names}
    (folder / JOB).write_text(json.dumps(told), encoding="utf-8")


def read_job(folder: Path) -> Job:
    told = json.loads((folder / JOB).read_text(encoding="utf-8"))
    parties = []
    for number, party in enumerate(told["parties"]):
        files = {name: folder / f"party{number}-{name}.npy" for name in ("ids", "cells", "labels")}
        held = {name: np.load(path, allow_pickle=False) for name, path in files.items() if path.exists()}
        parties.append(Held(party["name"], tuple(party["columns"]), held["ids"], held["cells"], held.get("labels")))
    return Job(folder, told["version"], told["seed"], told["options"], tuple(parties))


def run_inside(work: Callable[[Job], None]) -> None:
    """The main function of such a script: a failure is one line in the folder and exit code 3."""
    folder = Path(sys.argv[1])
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work(read_job(folder))
    except Exception as error:
        (folder / ERROR).write_text(" ".join(f"{type(error).__name__}: {error}".split())[:500], encoding="utf-8")
        raise


def check_version(job: Job, found: str, title: str) -> None:
    if found != job.version:
        raise RuntimeError(f"{title} must be version {job.version}, whose messages are known; got {found}")


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    end(below(os.getpid()))
    os.killpg(0, signal.SIGKILL)
