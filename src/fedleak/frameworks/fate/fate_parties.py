"""FATE's parties on this machine: each a process with a context of its own, in FATE's own environment.

They exchange messages through files in the job's folder (FATE's standalone federation), and open no port. What a party
pushes is recorded where every message of a context passes.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from time import monotonic
from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.frameworks.fate.fate_steps import Pushed
from fedleak.frameworks.job import Held, Job, read_job

SPAWN = multiprocessing.get_context("spawn")
GUEST, HOST, ARBITER = ("guest", "9999"), ("host", "10000"), ("arbiter", "10000")  # in FATE's terms
Place = tuple[str, str]
Told = tuple[str, Any]  # what a party tells the script: a message, what it keeps, that it is done or failed


@dataclass(frozen=True, eq=False)
class Seat:
    """A party's side of the federation. The guest holds the labels; an arbiter holds no data."""

    job: Job
    place: Place
    places: tuple[Place, ...]
    told: Queue[Told]

    @property
    def role(self) -> str:
        return self.place[0]

    @property
    def number(self) -> int:
        return self.places.index(self.place)

    @property
    def own(self) -> Held:
        return self.job.parties[self.number]

    def keep(self, name: object, value: object) -> None:
        """What the party has for itself."""
        self.told.put(("kept", {name: value}))

    def context(self) -> Any:
        from fate.arch.context import create_context

        settings = {
            "computing.standalone.data_dir": str(self.job.folder / "fate"),
            "computing.standalone.options": {"task_cores": 1},
        }
        return create_context(self.place, list(self.places), "capture", computing_conf=settings)

    def keep_pushed(self, plain: Callable[[str, Any], object]) -> None:
        """The recording point: every message that this party's context sends, as ``plain`` makes it storable."""
        from fate.arch.context import _parties

        named = [*(party.name for party in self.job.parties), ARBITER[0]]
        names, push = dict(zip(self.places, named, strict=False)), _parties._push

        def keeping(**given: Any) -> None:
            value = plain(given["name"], given["value"])
            for receiver in given["parties"]:
                tag, to = given["namespace"].federation_tag, names[tuple(receiver)]
                self.told.put(("pushed", Pushed(monotonic(), names[self.place], to, given["name"], tag, value)))
            push(**given)

        _parties._push = keeping

    def frame(self, context: Any, *, cells: str = "float32", rows: FloatArray | None = None) -> Any:
        """The party's table, or other rows of its columns, without labels. Rows are named by their position, with
        leading zeros: FATE keeps rows in the order of their names."""
        import pandas as pd
        from fate.arch.dataframe import PandasReader

        table = pd.DataFrame(self.own.cells if rows is None else rows, columns=list(self.own.columns))
        names = [f"{position:012d}" for position in range(len(table))]
        labelled = {}
        if self.own.labels is not None and rows is None:
            numbers = self.own.labels.dtype.kind == "f"
            table.insert(0, "fedleak-label", self.own.labels if numbers else self.own.labels.astype(np.int64))
            labelled = {"label_name": "fedleak-label", "label_type": "float32" if numbers else "int32"}
        table.insert(0, "fedleak-match", names)
        table.insert(0, "fedleak-row", names)
        ids = {"sample_id_name": "fedleak-row", "match_id_name": "fedleak-match"}
        return PandasReader(**ids, **labelled, dtype=cells, partition=1).to_frame(context, table)


Training = Callable[[Seat], None]


def federated(job: Job, places: tuple[Place, ...], training: Training) -> tuple[list[Pushed], dict[Any, Any]]:
    """What was pushed, and what parties kept. ``training`` is a function of a module: it runs in other processes."""
    told: Queue[Told] = SPAWN.Queue()
    parties = [
        SPAWN.Process(target=_take_part, args=(str(job.folder), place, places, told, training)) for place in places
    ]
    try:
        for party in parties:
            party.start()
        return gathered(told, parties)
    finally:
        for party in parties:  # after all are done: what a party sent goes with its process
            party.kill()
            party.join()


def gathered(told: Queue[Told], parties: Sequence[Any]) -> tuple[list[Pushed], dict[Any, Any]]:
    pushed: list[Pushed] = []
    kept: dict[Any, Any] = {}
    n_done = 0
    while n_done < len(parties):
        try:
            what, value = told.get(timeout=1.0)
        except Empty:
            codes = [party.exitcode for party in parties if party.exitcode]
            if codes:
                raise RuntimeError(f"a party of the training ended with exit code {codes[0]}") from None
            continue
        if what == "failed":
            raise RuntimeError(value)
        if what == "kept":
            kept |= value
        elif what == "pushed":
            pushed.append(value)
        n_done += what == "done"
    return pushed, kept


def _take_part(folder: str, place: Place, places: tuple[Place, ...], told: Queue[Told], training: Training) -> None:
    try:
        training(Seat(read_job(Path(folder)), place, places, told))
    except Exception as error:
        told.put(("failed", " ".join(f"{place[0]}: {type(error).__name__}: {error}".split())[:400]))
        raise
    told.put(("done", None))
