"""Where work is done. An engine hands it out and gives back what came of each piece, in any order."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from fedleak.core.errors import InputError
from fedleak.crypto.cores import using
from fedleak.trial.provenance import one_thread

DASK = "dask://"
Results = Generator[tuple["Work", Any], None, None]  # whoever leaves early closes it, and with it what still runs
MAX_DEATHS = 3  # of workers in a row with nothing computed in between: then it is the work, not the machine


_ONE_AT_A_TIME = threading.Lock()  # of a process: a piece sets the number of threads of all of it


@contextmanager
def on_one_core() -> Iterator[None]:
    """For a piece, whatever else this process does meanwhile."""
    with _ONE_AT_A_TIME, one_thread(), using(1):
        yield


class Made(Protocol):
    """What comes of a piece says which code computed it."""

    @property
    def code(self) -> str: ...


@dataclass(frozen=True)
class Work:
    """``do`` is called with what several pieces share, which goes to a worker once; ``key`` is a digest of its own."""

    key: str
    do: Callable[[Any], Made]
    shared: str


class Engine(ABC):
    @property
    @abstractmethod
    def words(self) -> str:
        """What it is, for a result's provenance."""

    @abstractmethod
    def done(self, works: Sequence[Work], shared: Mapping[str, Any]) -> Results:
        """As they come. A worker that dies loses nothing: what it had is computed again."""


def engine_named(name: str | None, jobs: int) -> Engine:
    """Processes of this machine, or a cluster that is there already."""
    if name is None:
        from fedleak.engines.local_processes import LocalProcesses

        return LocalProcesses(jobs)
    if name.startswith(DASK) and len(name) > len(DASK):
        from fedleak.engines.dask_cluster import DaskCluster

        return DaskCluster(name.removeprefix(DASK))
    raise InputError(f"--engine must be {DASK}HOST:PORT, or be left out for the cores of this machine; got {name!r}")
