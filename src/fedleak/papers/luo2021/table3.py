"""Table III: what each part of the generative regression network is worth (LR, bank, 40 % unknown)."""

from __future__ import annotations

from collections.abc import Iterator

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
from fedleak.papers.luo2021.models import LR, SETTINGS, SPLIT, trained
from fedleak.papers.luo2021.references import UNIFORM, reference_errors
from fedleak.papers.luo2021.tables import paper_table
from fedleak.papers.luo2021.trial import serve, split_rows, target_columns

SHARE = 0.4
CASES = {
    1: ("no own columns as input", {"own_input": False}),
    2: ("no noise as input", {"noise_input": False}),
    3: ("no constraint on the variance", {"constraint": False}),
    4: ("no generator: the values themselves are descended from N(0, 1)", {"generator": False}),
    5: ("the whole network", {}),
}
RANDOM_CASE = 6


class Table3(Experiment):
    name = "luo2021/table3"
    summary = "ablation of the generative regression network on bank marketing, logistic regression"
    reference = Reference("luo2021", "table III")

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(2 if quick else 10))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        table = paper_table("bank")
        seeds = self.seeds(quick=quick)
        progress.begin(self.name, len(seeds))
        found: dict[int, list[float]] = {case: [] for case in (*CASES, RANDOM_CASE)}
        for seed in seeds:
            rows = split_rows(table, seed, SPLIT, (4000, 1000, 300 if quick else 2000))
            model = trained(LR, table, rows, seed, epochs=0)
            served = serve(table, rows.predict, target_columns(table, seed, SHARE), model, SETTINGS, seed=seed)
            for case, (_, changes) in CASES.items():
                attack = GenerativeRegressionNetwork(GeneratorOptions(**changes))  # type: ignore[arg-type]
                guess = served.attack(attack, seed)
                found[case].append(float(squared_errors(guess.values, served.hidden).mean()))
            found[RANDOM_CASE].append(reference_errors(served.hidden, stream(seed, "guess", table.name))[UNIFORM])
            progress.advance()
        ranked = sorted(found, key=lambda case: float(np.mean(found[case])))
        for case, errors in found.items():
            about = CASES[case][0] if case in CASES else "random guess"
            measured = summary("mse", errors)
            measured["standard_error"] = float(np.std(errors, ddof=1) / len(errors) ** 0.5)
            measured["rank"] = float(ranked.index(case) + 1)
            paper_rank = sorted(TABLE_3, key=lambda other: TABLE_3[other]).index(case) + 1
            setting: dict[str, ScalarValue] = {"case": case, "what": about, "data": "bank", "model": LR}
            baseline = {"mse": float(np.mean(found[RANDOM_CASE]))}
            yield Row(setting, measured, {"mse": TABLE_3[case], "rank": float(paper_rank)}, baseline)
