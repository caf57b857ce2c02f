"""Beyond the paper: hidden columns of few values (feature types are known), on every model, under each release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fedleak.attacks.predictions.equality_grid import EqualityGrid
from fedleak.attacks.predictions.grid_match import GridMatch
from fedleak.attacks.predictions.posterior_inference import PosteriorInference
from fedleak.core.attack import Attack, Guess, Reference
from fedleak.core.payload import ScalarValue
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import public_stream
from fedleak.defenses.coarse_confidences import Rounding, TopLabel
from fedleak.papers.experiment import Experiment, Row
from fedleak.papers.luo2021.served_trial import LR, NN, RF, SETTINGS, SPLIT, Served, serve, split_rows, trained
from fedleak.papers.luo2021.tables import STEPS, PaperTable, column_steps, paper_table
from fedleak.papers.summaries import mean, student_95
from fedleak.trial.attempt import Failure
from fedleak.trial.progress import Progress

DATA = ("bank", "credit", "news")
MOST_VALUES = 12  # of a hidden column
HIDDEN = (2, 4)
RELEASES: dict[str, Defense | None] = {
    "exact": None,
    "b=3": Rounding(digits=3),
    "b=1": Rounding(digits=1),
    "top label": TopLabel(),
}
Trial = dict[str, float]


class Types(Experiment):
    name = "luo2021/types"
    summary = "hidden columns of few values on LR, RF and NN: share of cells whose value is right, by what is released"
    reference = Reference("fedleak", "luo2021, section III-B: feature types are known")
    from_true_rows = (STEPS,)

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(1 if quick else 5))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        seeds = self.seeds(quick=quick)
        names = DATA[:1] if quick else DATA
        progress.begin(self.name, len(names) * 3)
        for name in names:
            table = paper_table(name)
            for kind in (LR, RF, NN):
                yield from _of_model(table, kind, seeds, quick)
                progress.advance()


def few_valued(table: PaperTable, seed: int, count: int) -> tuple[str, ...]:
    """Columns drawn among those of at most so many values that vary."""
    steps = column_steps(table)
    few = [name for name in table.columns if (step := steps[name]) and round(1 / step.step) < MOST_VALUES]
    return tuple(few[i] for i in np.sort(public_stream(seed, "few", table.name).permutation(len(few))[:count]))


def _of_model(table: PaperTable, kind: str, seeds: Sequence[int], quick: bool) -> Iterator[Row]:
    found: dict[tuple[int, str, str], list[Trial]] = {}
    skipped: dict[tuple[int, str, str], str] = {}
    for seed in seeds:
        rows = split_rows(table, seed, SPLIT, (2000 if quick else 4000, 500, 100 if quick else 200))
        model = trained(kind, table, rows, seed, epochs=4 if quick else 15)
        for count in HIDDEN:
            for release, defense in RELEASES.items():
                hidden = few_valued(table, seed, count)
                served = serve(table, rows.predict, hidden, model, SETTINGS, seed=seed, defense=defense)
                for attack in _attacks(kind, release):
                    key = count, release, attack.name
                    of_key = found.setdefault(key, [])
                    attempt = served.attempt(attack)
                    if isinstance(attempt.result, Failure) and attempt.result.skipped:
                        skipped[key] = attempt.result.why
                    else:
                        of_key.append(_trial(served, table, attempt.guess))
    for key, trials in found.items():
        yield _row(table, kind, key, trials, len(seeds), skipped.get(key, ""))


def _attacks(kind: str, release: str) -> tuple[Attack, ...]:
    grids: tuple[Attack, ...] = (GridMatch(), EqualityGrid()) if kind == LR else (GridMatch(),)
    return (*grids, PosteriorInference()) if release == "exact" else grids


def _trial(served: Served, table: PaperTable, guess: Guess) -> Trial:
    """A cell is right where the nearest value that its column can take is the true one."""
    hidden, steps = served.hidden.values, column_steps(table)
    errors = served.errors(guess)
    half_steps = np.array([step.step / 2 for name in served.target if (step := steps[name])])
    commonest = [np.unique(column, return_counts=True)[1].max() / len(column) for column in hidden.T]
    return {
        "mse": float(errors.mean()),
        "right": float((errors < half_steps**2).mean()),
        "half": float(np.mean((hidden - 0.5) ** 2)),
        "commonest": float(np.mean(commonest)),
    }


def _row(
    table: PaperTable, kind: str, key: tuple[int, str, str], trials: Sequence[Trial], n_seeds: int, reason: str
) -> Row:
    count, release, method = key
    setting: dict[str, ScalarValue] = {"data": table.name, "model": kind, "hidden columns": count}
    setting |= {"release": release, "method": method}
    measured = student_95("right_cells", [trial["right"] for trial in trials])
    measured |= {"mse": mean([trial["mse"] for trial in trials])}
    # The value that most cells of a column have, which an attacker does not know, and the constant 0.5.
    baseline = {
        "right_cells": mean([trial["commonest"] for trial in trials]),
        "mse": mean([trial["half"] for trial in trials]),
    }
    note = f"{n_seeds - len(trials)} of {n_seeds} trials skipped: {reason}" if reason else ""
    return Row(setting, measured.figures, None, baseline, note, measured.bands)
