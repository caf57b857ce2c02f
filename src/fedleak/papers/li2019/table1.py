"""Table 1 and beyond: how long binary batches take to solve for, the paper's way and ours, on the same tables.

The paper's way is its linear constraints (section 3.2) on PuLP's default solver, CBC; ours is lattice reduction, which
also says with a certificate whether the solution is the only one, up to 128 rows.
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

from fedleak.attacks.binary.binary_table import BinaryTables, Outcome, binary_tables, sorted_rows
from fedleak.attacks.binary.table_search import Budget
from fedleak.core.arrays import IntArray
from fedleak.core.attack import Reference
from fedleak.core.errors import MissingExtraError
from fedleak.core.whole.randomness import public_stream
from fedleak.papers.experiment import Bundled, Curve, Experiment, Panel, Row
from fedleak.papers.li2019.printed import TABLE_1
from fedleak.papers.summaries import mean
from fedleak.trial.progress import Progress

COMPARED = ((8, 20), (9, 20))  # where the integer program gets as many instances as we do
QUICK_CELLS = ((3, 5), (9, 5), (8, 20), (9, 20), (11, 20))
REPEATS = 20
SCALE_GRID = ((24, 50), (48, 100), (64, 100), (80, 100), (96, 150), (96, 120), (112, 150), (128, 160))
QUICK_SCALE_GRID = ((24, 50), (48, 100), (64, 100), (96, 150))
SEVERAL_UP_TO = 80  # rows; larger tables get one instance each


def random_table(m: int, d: int, seed: int) -> IntArray:
    """Rows of fair coins."""
    table: IntArray = public_stream(seed, "li2019", "table", str(m), str(d)).integers(0, 2, (m, d))
    return table


class Table1(Experiment):
    name = "li2019/table1"
    summary = "CPU time to solve for binary batches: the paper's integer program and lattice reduction"
    reference = Reference("li2019", "table 1")
    needs = Bundled.ALWAYS

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2, 3, 4)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        cells = QUICK_CELLS if quick else tuple(TABLE_1)
        progress.begin(self.name, len(cells))
        table = random_table(5, 8, 0)
        binary_tables(table.T @ table, 5, Budget())  # libraries load outside the measurement
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
        found = binary_tables(gram, len(table), Budget())
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
    return mean(right)


class Scale(Experiment):
    name = "li2019/scale"
    summary = "CPU time to solve for and certify binary tables of up to 128 rows"
    reference = Reference("li2019", "section 4.1")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        grid = QUICK_SCALE_GRID if quick else SCALE_GRID
        progress.begin(self.name, len(grid))
        for m, d in grid:
            seeds = self.seeds(quick=quick) if m <= SEVERAL_UP_TO else (0,)
            yield _scale_row(m, d, seeds)
            progress.advance()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        solved = [row for row in rows if row.measured["certified_unique"] == 1.0]
        x = [float(row.setting["rows"] or 0) for row in solved]
        y = [float(row.measured["cpu_seconds"] or 0) for row in solved]
        return (Panel("certified tables", "rows", "CPU seconds", [Curve("lattice", x, y)], log_y=True),)


def _scale_row(m: int, d: int, seeds: Sequence[int]) -> Row:
    seconds, certified, right, methods = [], [], [], []
    for seed in seeds:
        table = random_table(m, d, seed)
        gram = table.T @ table
        began = time.process_time()
        found = binary_tables(gram, m, Budget())
        seconds.append(time.process_time() - began)
        certified.append(found.outcome is Outcome.UNIQUE)
        right.append(bool(found.tables) and np.array_equal(found.tables[0], sorted_rows(table)))
        methods.append(found.method)
    return Row(
        setting={"rows": m, "columns": d, "instances": len(seeds)},
        measured={
            "cpu_seconds": median(seconds),
            "slowest_cpu_seconds": max(seconds),
            "certified_unique": float(np.mean(certified)),
            "equal_to_truth": float(np.mean(right)),
        },
        note=", ".join(dict.fromkeys(methods)),
    )


@dataclass(frozen=True, eq=False)
class ProgramResult:
    table: IntArray | None  # None where the time limit came first
    cpu_seconds: float  # of the solver's process


def solve_program(gram: IntArray, n_rows: int, time_limit: float) -> ProgramResult:
    """One thread, default options; every ordered pair of columns has products δ_ijk of its own, as the paper counts."""
    try:
        import pulp
    except ImportError as error:
        raise MissingExtraError.of("pulp", "dev", "the comparison with the paper's integer program") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PuLP announces the interface of its next version
        program, x = _program(pulp, gram, n_rows)
        before = _children_seconds()
        status = program.solve(pulp.PULP_CBC_CMD(msg=False, threads=1, timeLimit=time_limit))
        seconds = _children_seconds() - before
    values = [[cell.value() for cell in row] for row in x]
    if pulp.LpStatus[status] != "Optimal" or any(value is None for row in values for value in row):
        return ProgramResult(None, seconds)
    table = np.rint(np.array(values, dtype=np.float64)).astype(np.int64)
    return ProgramResult(table if np.array_equal(table.T @ table, gram) else None, seconds)


def _program(pulp: ModuleType, gram: IntArray, n_rows: int) -> tuple[Any, list[list[Any]]]:
    d = len(gram)
    program = pulp.LpProblem("binary_table", pulp.LpMinimize)
    x = [[pulp.LpVariable(f"x_{k}_{i}", cat="Binary") for i in range(d)] for k in range(n_rows)]
    program += 0
    for i in range(d):
        program += pulp.lpSum(x[k][i] for k in range(n_rows)) == int(gram[i, i])
    for i, j in permutations(range(d), 2):
        delta = [pulp.LpVariable(f"d_{i}_{j}_{k}", cat="Binary") for k in range(n_rows)]
        program += pulp.lpSum(delta) == int(gram[i, j])
        for k in range(n_rows):
            program += x[k][i] + x[k][j] >= 2 * delta[k]
            program += x[k][i] + x[k][j] - 1 <= delta[k]
    return program, x


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
