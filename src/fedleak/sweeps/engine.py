"""Where cells are computed. An engine hands them out and gives back what came of each, in any order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fedleak.core.errors import InputError
from fedleak.data import EncodedTable
from fedleak.sweeps.cell import Cell, Done

DASK = "dask://"
MAX_DEATHS = 3  # of workers in a row with nothing computed in between: then it is the cell, not the machine


@dataclass(frozen=True)
class Work:
    """A cell, by the digests of its inputs and of its table."""

    key: str
    cell: Cell
    table: str


class Engine(ABC):
    @abstractmethod
    def done(self, works: Sequence[Work], tables: Mapping[str, EncodedTable]) -> Iterator[tuple[Work, Done]]:
        """As they come. A worker that dies loses nothing: what it had is computed again."""


def engine_named(name: str | None, jobs: int) -> Engine:
    """Processes of this machine, or a cluster that is there already."""
    if name is None:
        from fedleak.sweeps.local_processes import LocalProcesses

        return LocalProcesses(jobs)
    if name.startswith(DASK) and len(name) > len(DASK):
        from fedleak.sweeps.dask_cluster import DaskCluster

        return DaskCluster(name.removeprefix(DASK))
    raise InputError(f"--engine must be {DASK}HOST:PORT, or be left out for the cores of this machine; got {name!r}")
