"""A sweep: what the store does not have of a grid is computed, and kept as it comes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fedleak.core.errors import FedleakError, RunError
from fedleak.data import EncodedTable, load_table
from fedleak.data.spec import DataSpec
from fedleak.engines.code_version import code_version
from fedleak.engines.engine import Engine, Work
from fedleak.sweeps.cell import Cell, run_cell, table_digest
from fedleak.sweeps.store import Store, key_of
from fedleak.trial.progress import Progress


@dataclass(frozen=True)
class Swept:
    n_cells: int
    n_distinct: int  # combinations that come to the same scenario are computed once
    n_from_store: int
    n_computed: int
    n_failed: int  # of those computed: something in them failed; the next sweep tries it again
    cpu_seconds: float
    interrupted: KeyboardInterrupt | None = None
    failed: FedleakError | None = None


class Planned:
    """Cells with their data: the tables are read here, once each, and go to workers with the cells."""

    def __init__(self, cells: list[Cell]) -> None:
        self.tables: dict[str, EncodedTable] = {}
        read: dict[tuple[DataSpec, Path | None], str] = {}
        self.works: dict[str, Work] = {}
        self.inputs: dict[str, str] = {}
        self.called: list[tuple[str, dict[str, str]]] = []
        for cell in cells:
            place = (cell.scenario.data, cell.scenario.folder)
            if place not in read:
                table = load_table(cell.scenario.data, folder=cell.scenario.folder)
                read[place] = table_digest(table)
                self.tables[read[place]] = table
            inputs = cell.inputs(read[place])
            key = key_of(inputs)
            self.inputs[key] = inputs
            self.works[key] = Work(key, partial(run_cell, cell), read[place])
            self.called.append((key, dict(cell.setting)))


def sweep(planned: Planned, store: Store, engine: Engine, progress: Progress) -> Swept:
    """Ctrl-C, and whatever else ends it, leaves what was computed in the store: the same call goes on."""
    kept = store.kept(list(planned.works), code_version())
    store.call(planned.called)
    left = [work for key, work in planned.works.items() if kept.get(key, True)]
    n_done = n_failed = 0
    spent, ended = 0.0, dict[str, BaseException]()
    progress.begin("cells", len(left))
    try:
        for work, done in engine.done(left, planned.tables) if left else ():
            store.keep(planned.inputs[work.key], done)
            n_done, n_failed, spent = n_done + 1, n_failed + done.has_failed, spent + done.cpu_seconds
            progress.advance()
    except KeyboardInterrupt as interruption:
        ended["interrupted"] = interruption
    except RunError as error:
        ended["failed"] = error
    n_works = len(planned.works)
    return Swept(len(planned.called), n_works, n_works - len(left), n_done, n_failed, spent, **ended)  # type: ignore[arg-type]
