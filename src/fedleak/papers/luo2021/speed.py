"""Equality solving on 100,000 rows of 50 columns: how long each variant takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fedleak.attacks.features.equality_bayes import EqualityBayes
from fedleak.attacks.features.equality_grid import EqualityGrid
from fedleak.attacks.features.equality_projection import EqualityProjection
from fedleak.attacks.features.equality_solving import EqualitySolving
from fedleak.audit.progress import Progress
from fedleak.core.arrays import freeze
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.metrics.squared_error import squared_errors
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.luo2021.fig5 import logistic
from fedleak.papers.luo2021.models import SETTINGS
from fedleak.papers.luo2021.tables import PaperTable, paper_table
from fedleak.papers.luo2021.trial import serve, split_rows, target_columns


class Speed(Experiment):
    name = "luo2021/speed"
    summary = "seconds that equality solving takes on 100,000 rows of 50 columns (synthetic2)"
    reference = Reference("luo2021", "section IV-A")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        plain = paper_table("synthetic2")
        # In hundredths, because continuous columns have no grid.
        stepped = replace(plain, features=freeze(np.round(100 * plain.features) / 100))
        cases: tuple[tuple[PaperTable, float, Attack], ...] = (
            (plain, 0.5, EqualitySolving()),
            (plain, 0.5, EqualityProjection()),
            (plain, 0.5, EqualityBayes()),
            (stepped, 0.4, EqualityGrid()),
        )
        progress.begin(self.name, len(cases))
        for table, share, attack in cases:
            yield _timed(table, share, attack)
            progress.advance()


def _timed(table: PaperTable, share: float, attack: Attack) -> Row:
    rows = split_rows(table, 0, (0.05, 0.0, 0.95), (5000, 0, 0))
    target = target_columns(table, 0, share)
    served = serve(table, np.arange(len(table.labels)), target, logistic(table, rows), SETTINGS, seed=0)
    began, cpu = time.perf_counter(), time.process_time()
    guess = served.attack(attack, 0)
    measured = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
    measured["mse"] = float(squared_errors(guess.values, served.hidden).mean())
    setting: dict[str, ScalarValue] = {"method": attack.name, "rows": len(guess.ids)}
    setting |= {"columns": len(table.columns), "unknown": len(target)}
    baseline = {"mse": float(np.mean((served.hidden.values - 0.5) ** 2))}
    return Row(setting, measured, None, baseline, "columns in hundredths" if attack.name == EqualityGrid.name else "")
