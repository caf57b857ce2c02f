"""The weight of the generator's penalty (Omega of eq. 9): does choosing it by the truth explain table III?

The authors' published code holds such a search, from -0.03 (variance is rewarded) to 0.5, switched off. No attacker can
make that choice; here every weight is reported, and none is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fedleak.attacks.features.generative_regression import GenerativeRegressionNetwork
from fedleak.attacks.generative.generator import GeneratorOptions
from fedleak.audit.progress import Progress
from fedleak.audit.randomness import stream
from fedleak.core.attack import Reference
from fedleak.core.payload import ScalarValue
from fedleak.metrics.squared_error import squared_errors
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.luo2021.averages import summary
from fedleak.papers.luo2021.figures import TABLE_3
from fedleak.papers.luo2021.models import SETTINGS, SPLIT
from fedleak.papers.luo2021.references import UNIFORM, reference_errors
from fedleak.papers.luo2021.table3 import FULL, QUICK, SHARE, WHOLE
from fedleak.papers.luo2021.tables import paper_table
from fedleak.papers.luo2021.trial import serve, split_rows, target_columns

WEIGHTS = (-0.03, 0.0, 0.05, 0.25, 0.5)
PUBLISHED = GeneratorOptions().variance_weight


class Penalty(Experiment):
    name = "luo2021/penalty"
    summary = "the generative regression network by the weight of its penalty, in the authors' set-up of table III"
    reference = Reference("luo2021", "eq. 9, table III")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(2 if quick else 5))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        table, seeds = paper_table("bank"), self.seeds(quick=quick)
        set_up = (QUICK if quick else FULL)[0]
        progress.begin(self.name, len(seeds))
        found: dict[float, list[float]] = {weight: [] for weight in WEIGHTS}
        guessed = []
        for seed in seeds:
            rows = split_rows(table, seed, SPLIT, set_up.most)
            model = set_up.model(table, rows, seed, quick=quick)
            served = serve(table, rows.predict, target_columns(table, seed, SHARE), model, SETTINGS, seed=seed)
            for weight, errors in found.items():
                options = replace(set_up.options({}), variance_weight=weight)
                guess = served.attack(GenerativeRegressionNetwork(options), seed)
                errors.append(float(squared_errors(guess.values, served.hidden).mean()))
            guessed.append(reference_errors(served.hidden, stream(seed, "guess", table.name))[UNIFORM])
            progress.advance()
        for weight, errors in found.items():
            setting: dict[str, ScalarValue] = {"set-up": set_up.name, "data": table.name, "weight": weight}
            paper = {"mse": TABLE_3[WHOLE]} if weight == PUBLISHED else None
            yield Row(setting, summary("mse", errors), paper, {"mse": float(np.mean(guessed))})
