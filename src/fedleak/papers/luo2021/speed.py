"""Equality solving on 100,000 rows of 50 columns: how long each variant takes."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from fedleak.attacks.features.equality_bayes import EqualityBayes
from fedleak.attacks.features.equality_projection import EqualityProjection
from fedleak.attacks.features.equality_solving import EqualitySolving
from fedleak.audit.progress import Progress
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.luo2021.fig5 import logistic
from fedleak.papers.luo2021.models import SETTINGS
from fedleak.papers.luo2021.tables import paper_table
from fedleak.papers.luo2021.trial import serve, split_rows, target_columns


class Speed(Experiment):
    name = "luo2021/speed"
    summary = "seconds that equality solving takes on 100,000 rows of 50 columns (synthetic2, half of them unknown)"
    reference = Reference("luo2021", "section IV-A")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return (0,)

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        table = paper_table("synthetic2")
        rows = split_rows(table, 0, (0.05, 0.0, 0.95), (5000, 0, 0))
        model = logistic(table, rows)
        everything = np.arange(len(table.labels))
        served = serve(table, everything, target_columns(table, 0, 0.5), model, SETTINGS, seed=0)
        attacks: tuple[Attack, ...] = (EqualitySolving(), EqualityProjection(), EqualityBayes())
        progress.begin(self.name, len(attacks))
        for attack in attacks:
            began, cpu = time.perf_counter(), time.process_time()
            guess = served.attack(attack, 0)
            setting: dict[str, ScalarValue] = {"method": attack.name, "rows": len(guess.ids), "columns": 50}
            measured = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
            yield Row(setting, measured)
            progress.advance()
