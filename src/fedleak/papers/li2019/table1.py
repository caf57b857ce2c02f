"""Table 1: how long binary batches take to solve for, the paper's way and ours, on the same tables in one run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import numpy as np

from fedleak.attacks.binary.binary_table import BinaryTables, Outcome, binary_tables
from fedleak.attacks.binary.budget import Budget
from fedleak.audit.progress import Progress
from fedleak.audit.randomness import stream
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import MissingExtraError
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.li2019.figures import TABLE_1
from fedleak.papers.li2019.integer_program import solve_program

COMPARED = ((8, 20), (9, 20))  # where the integer program gets as many instances as we do
QUICK = ((3, 5), (9, 5), (8, 20), (9, 20), (11, 20))
BUDGET_SECONDS = 10.0
REPEATS = 20


def random_table(m: int, d: int, seed: int) -> IntArray:
    """Rows of fair coins."""
    table: IntArray = stream(seed, "li2019", "table", str(m), str(d)).integers(0, 2, (m, d))
    return table


class Table1(Experiment):
    name = "li2019/table1"
    summary = "CPU time to solve for binary batches: the paper's integer program and lattice reduction"
    reference = Reference("li2019", "table 1")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2, 3, 4)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        cells = QUICK if quick else tuple(TABLE_1)
        progress.begin(self.name, len(cells))
        table = random_table(5, 8, 0)
        binary_tables(table.T @ table, 5, Budget(BUDGET_SECONDS))  # libraries load outside the measurement
        for m, d in cells:
            yield self._cell(m, d, quick=quick)
            progress.advance()

    def _cell(self, m: int, d: int, *, quick: bool) -> Row:
        seeds = self.seeds(quick=quick)
        tables = [random_table(m, d, seed) for seed in seeds]
        ours = [_timed(table) for table in tables]
        # The program is run on all instances where the ratio is claimed, on the first elsewhere.
        compared = tables if (m, d) in COMPARED else tables[:1]
        limit = 20.0 if quick else (90.0 if (m, d) in COMPARED else 30.0)
        programs, note = _programs(compared, m, limit)
        lattice_seconds = median(seconds for _, seconds in ours)
        cbc = median(programs) if programs else None
        outcomes = [found.outcome for found, _ in ours]
        return Row(
            setting={"rows": m, "columns": d, "instances": len(tables), "cbc_instances": len(programs)},
            measured={
                "cpu_seconds": lattice_seconds,
                "cbc_cpu_seconds": cbc,
                "cbc_over_ours": None if cbc is None else cbc / lattice_seconds,
                "certified_unique": outcomes.count(Outcome.UNIQUE) / len(outcomes),
                "several_solutions": outcomes.count(Outcome.SEVERAL) / len(outcomes),
                "truth_found_if_unique": _share_right(tables, ours),
            },
            paper={"cbc_cpu_seconds": TABLE_1[m, d]},
            note="; ".join(filter(None, [note, "" if TABLE_1[m, d] else "the paper: several solutions"])),
        )


def _timed(table: IntArray) -> tuple[BinaryTables, float]:
    """CPU time of one solution, as the mean of several: one alone is below what the clock resolves well."""
    gram = table.T @ table
    began = time.process_time()
    for _ in range(REPEATS):
        found = binary_tables(gram, len(table), Budget(BUDGET_SECONDS))
    return found, (time.process_time() - began) / REPEATS


def _programs(tables: list[IntArray], m: int, limit: float) -> tuple[list[float], str]:
    """CPU seconds of the integer program on each table; a run that hits the limit counts with what it used."""
    seconds, stopped = [], 0
    try:
        for table in tables:
            result = solve_program(table.T @ table, m, limit)
            seconds.append(result.cpu_seconds)
            stopped += result.table is None
    except MissingExtraError as error:
        return [], str(error)
    return seconds, f"CBC stopped at {limit:g} s in {stopped} of {len(tables)}: a lower bound" if stopped else ""


def _share_right(tables: list[IntArray], ours: list[tuple[BinaryTables, float]]) -> float | None:
    """Of the instances that are certified, the share whose table is the true one up to row order."""
    right = [
        np.array_equal(found.tables[0], table[np.lexsort(table.T[::-1])])
        for table, (found, _) in zip(tables, ours, strict=True)
        if found.outcome is Outcome.UNIQUE
    ]
    return float(np.mean(right)) if right else None
