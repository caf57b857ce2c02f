"""Fig. 11: rounding against equality solving and the generative network, dropout against the latter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fedleak.attacks.predictions.equality_bayes import EqualityBayes
from fedleak.attacks.predictions.equality_grid import EqualityGrid
from fedleak.attacks.predictions.equality_projection import EqualityProjection
from fedleak.attacks.predictions.equality_solving import ZERO_FLOOR, EqualitySolving
from fedleak.attacks.predictions.generative_regression import GenerativeRegressionNetwork
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import public_stream
from fedleak.defenses.coarse_confidences import Rounding, TopLabel
from fedleak.papers.experiment import Experiment, Panel, Row
from fedleak.papers.luo2021 import fig5
from fedleak.papers.luo2021.served_trial import (
    NN,
    SETTINGS,
    SPLIT,
    UNIFORM,
    Served,
    logistic,
    reference_errors,
    serve,
    split_rows,
    target_columns,
    trained,
)
from fedleak.papers.luo2021.tables import REAL, STEPS, PaperTable, paper_table
from fedleak.papers.panels import panels_by
from fedleak.papers.summaries import means, student_95
from fedleak.trial.progress import Progress

RELEASES: dict[str, Defense | None] = {
    "exact": None,
    "b=1": Rounding(digits=1),
    "b=2": Rounding(digits=2),
    "b=3": Rounding(digits=3),
    "b=6": Rounding(digits=6),
    "b=1 nearest": Rounding(digits=1, mode="nearest"),
    "top label": TopLabel(),
}
SHARES = (0.2, 0.4, 0.6)
DROPOUT = 0.5
MEAN = "mean over shares"
Trial = dict[str, float]


class Fig11(Experiment):
    name = "luo2021/fig11"
    summary = "rounding and dropout: MSE per feature and the accuracy of what is released"
    reference = Reference("luo2021", "fig. 11")
    from_true_rows = (STEPS,)

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(2 if quick else 10))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        seeds = self.seeds(quick=quick)
        few = seeds[:1] if quick else seeds
        progress.begin(self.name, len(REAL) + 2 * 2)
        for name in REAL:
            yield from _equality(paper_table(name), seeds, SHARES, quick)
            progress.advance()
        for name in ("bank", "credit"):
            yield from _generative(paper_table(name), few, quick)
            progress.advance()
            yield from _dropout(paper_table(name), few, quick)
            progress.advance()

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        plain = [
            replace(row, setting={**row.setting, "panel": f"{row.setting['data']}, {row.setting['method']}"})
            for row in rows
            if row.setting["unknown share"] != MEAN and row.setting["method"] == EqualitySolving.name
        ]
        panels = panels_by(plain, "panel", "unknown share", "release", "mse", y_label="MSE per feature")
        return tuple(replace(panel, log_y=True) for panel in panels)  # from 0.05 to 50,000


def _equality(table: PaperTable, seeds: Sequence[int], shares: Sequence[float], quick: bool) -> Iterator[Row]:
    """Fig. 11a-b on all data sets: the paper's unclipped pseudo-inverse, and ours, which know of the rounding."""
    most = (3000, 500, 600) if quick else (8000, 2000, 1500)
    attacks: tuple[Attack, ...] = (EqualitySolving(), EqualityProjection(), EqualityBayes(), EqualityGrid())
    found: dict[tuple[str, str], dict[float, list[Trial]]] = {}
    for seed in seeds:
        rows = split_rows(table, seed, fig5.SPLIT, most)
        model = logistic(table, rows)
        for share in shares:
            target = target_columns(table, seed, share)
            for release, defense in RELEASES.items():
                served = serve(table, rows.predict, target, model, SETTINGS, seed=seed, defense=defense)
                for attack in attacks if served.knowledge.columns else attacks[:-1]:
                    trial = _trial(served, attack, seed, table.name)
                    found.setdefault((release, attack.name), {}).setdefault(share, []).append(trial)
    for (release, method), by_share in found.items():
        yield from _rows(table, "LR", release, method, by_share)
        if all(len(by_share.get(share, ())) == len(seeds) for share in shares):
            pooled = [means([by_share[share][i] for share in shares]) for i in range(len(seeds))]
            yield _row(table, "LR", release, method, MEAN, pooled)


def _generative(table: PaperTable, seeds: Sequence[int], quick: bool) -> Iterator[Row]:
    """Fig. 11c-d: the generative network on LR under rounding."""
    found: dict[str, list[Trial]] = {}
    for seed in seeds:
        rows = split_rows(table, seed, SPLIT, (3000, 500, 200 if quick else 600))
        model = logistic(table, rows)
        for release in ("exact", "b=1", "b=3"):
            target = target_columns(table, seed, 0.4)
            served = serve(table, rows.predict, target, model, SETTINGS, seed=seed, defense=RELEASES[release])
            trial = _trial(served, GenerativeRegressionNetwork(), seed, table.name)
            found.setdefault(release, []).append(trial)
    for release, trials in found.items():
        yield _row(table, "LR", release, GenerativeRegressionNetwork.name, 0.4, trials)


def _dropout(table: PaperTable, seeds: Sequence[int], quick: bool) -> Iterator[Row]:
    """Fig. 11e-f: the generative network on a network trained with and without dropout."""
    for label, dropout in (("exact", 0.0), (f"dropout {DROPOUT}", DROPOUT)):
        trials = []
        for seed in seeds:
            rows = split_rows(table, seed, SPLIT, (1500 if quick else 4000, 500, 200 if quick else 600))
            model = trained(NN, table, rows, seed, epochs=4 if quick else 15, dropout=dropout)
            served = serve(table, rows.predict, target_columns(table, seed, 0.4), model, SETTINGS, seed=seed)
            trials.append(_trial(served, GenerativeRegressionNetwork(), seed, table.name))
        yield _row(table, NN, label, GenerativeRegressionNetwork.name, 0.4, trials)


def _trial(served: Served, attack: Attack, seed: int, name: str) -> Trial:
    found = {"mse": served.mse(attack)}
    found["accuracy"] = served.run.utility.get("prediction_accuracy", float("nan"))
    found["random"] = reference_errors(served.hidden, public_stream(seed, "guess", name))[UNIFORM]
    return found


def _rows(
    table: PaperTable, model: str, release: str, method: str, by_share: dict[float, list[Trial]]
) -> Iterator[Row]:
    for share, trials in by_share.items():
        yield _row(table, model, release, method, share, trials)


def _row(table: PaperTable, model: str, release: str, method: str, share: float | str, trials: Sequence[Trial]) -> Row:
    setting: dict[str, ScalarValue] = {"data": table.name, "model": model, "unknown share": share}
    setting |= {"release": release, "method": method}
    measured = student_95("mse", [trial["mse"] for trial in trials])
    measured |= {"accuracy": float(np.mean([trial["accuracy"] for trial in trials]))}
    note = f"zeros floored at {ZERO_FLOOR:g}" if method == EqualitySolving.name and release != "exact" else ""
    baseline = {"mse": float(np.mean([trial["random"] for trial in trials]))}
    return Row(setting, measured.figures, None, baseline, note, measured.bands)
