"""The paper's way to solve XᵀX = α: its linear constraints (section 3.2) on PuLP's default solver, CBC."""

from __future__ import annotations

import resource
import warnings
from dataclasses import dataclass
from itertools import permutations
from types import ModuleType
from typing import Any

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.errors import MissingExtraError


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
