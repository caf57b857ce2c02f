"""Beyond table 1: how many rows lattice reduction still solves for, with the certificate."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from fedleak.attacks.binary.binary_table import Outcome, binary_tables, sorted_rows
from fedleak.attacks.binary.budget import Budget
from fedleak.audit.progress import Progress
from fedleak.core.attack import Reference
from fedleak.papers.experiment import Curve, Experiment, Panel, Row
from fedleak.papers.li2019.table1 import random_table

GRID = ((24, 50), (48, 100), (64, 100), (80, 100), (96, 150), (96, 120), (112, 150), (128, 160))
QUICK = ((24, 50), (48, 100), (64, 100), (96, 150))
SEVERAL_UP_TO = 80  # rows; larger tables get one instance each
BUDGET_SECONDS = 120.0


class Scale(Experiment):
    name = "li2019/scale"
    summary = "CPU time to solve for and certify binary tables of up to 128 rows"
    reference = Reference("li2019", "section 4.1")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,) if quick else (0, 1, 2)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        grid = QUICK if quick else GRID
        progress.begin(self.name, len(grid))
        for m, d in grid:
            seeds = self.seeds(quick=quick) if m <= SEVERAL_UP_TO else (0,)
            yield _measured(m, d, seeds)
            progress.advance()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        solved = [row for row in rows if row.measured["certified_unique"] == 1.0]
        x = [float(row.setting["rows"] or 0) for row in solved]
        y = [float(row.measured["cpu_seconds"] or 0) for row in solved]
        return (Panel("certified tables", "rows", "CPU seconds", [Curve("lattice", x, y)], log_y=True),)


def _measured(m: int, d: int, seeds: Sequence[int]) -> Row:
    seconds, certified, right, methods = [], [], [], []
    for seed in seeds:
        table = random_table(m, d, seed)
        gram = table.T @ table
        began = time.process_time()
        found = binary_tables(gram, m, Budget(BUDGET_SECONDS))
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
