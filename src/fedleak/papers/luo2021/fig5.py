"""Fig. 5: equality solving on logistic regression by the share of unknown features; and its time on 100,000 rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from fedleak.attacks.predictions.equality_bayes import EqualityBayes
from fedleak.attacks.predictions.equality_grid import EqualityGrid
from fedleak.attacks.predictions.equality_projection import EqualityProjection
from fedleak.attacks.predictions.equality_solving import EqualitySolving
from fedleak.core.arrays import freeze
from fedleak.core.attack import Attack, Reference
from fedleak.core.payload import ScalarValue
from fedleak.core.whole.randomness import public_stream
from fedleak.models.model import Model
from fedleak.papers.experiment import Bundled, Experiment, Panel, Row
from fedleak.papers.luo2021.printed import ERROR_BELOW_THRESHOLD, ERROR_BOUND
from fedleak.papers.luo2021.served_trial import (
    SETTINGS,
    UNIFORM,
    Rows,
    logistic,
    reference_errors,
    serve,
    split_rows,
    target_columns,
)
from fedleak.papers.luo2021.tables import REAL, STEPS, PaperTable, paper_table
from fedleak.papers.panels import panels_by
from fedleak.papers.pieces import Piece, one_value
from fedleak.papers.summaries import mean, student_95
from fedleak.theory.prediction_bounds import error_bound
from fedleak.trial.progress import Progress

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
SPLIT = (0.64, 0.16, 0.20)  # train, test, predict: the authors'
ATTACKS = (EqualitySolving, EqualityProjection, EqualityBayes)


class Fig5(Experiment):
    name = "luo2021/fig5"
    summary = "equality solving on logistic regression: MSE per feature by the share of unknown features"
    reference = Reference("luo2021", "fig. 5")
    from_true_rows = (STEPS,)

    def seeds(self, *, quick: bool) -> tuple[int, ...]:
        return tuple(range(2 if quick else 10))

    def rows(self, *, quick: bool, progress: Progress) -> Iterator[Row]:
        seeds = self.seeds(quick=quick)
        progress.begin(self.name, len(REAL) * len(seeds))
        for name in REAL:
            trials = []
            for seed in seeds:
                trials.append(_piece(name, seed, quick).measure(self.kept))
                progress.advance()
            for share in SHARES:
                yield from _rows(paper_table(name), share, [found[str(share)] for found in trials])

    def pieces(self, *, quick: bool) -> list[Piece]:
        return [_piece(name, seed, quick) for name in REAL for seed in self.seeds(quick=quick)]

    def panels(self, rows: Sequence[Row]) -> tuple[Panel, ...]:
        return panels_by(rows, "data", "unknown share", "method", "mse", y_label="MSE per feature")


def _piece(name: str, seed: int, quick: bool) -> Piece:
    return one_value(["fig5", name, seed, quick], partial(_by_share, name, seed, quick))


def _by_share(name: str, seed: int, quick: bool) -> dict[str, dict[str, float]]:
    table = paper_table(name)
    rows = split_rows(table, seed, SPLIT, (3000, 1000, 1000) if quick else (6000, 2000, 2000))
    model = logistic(table, rows)
    return {str(share): measure(table, rows, model, share, seed) for share in SHARES}


def measure(table: PaperTable, rows: Rows, model: Model, share: float, seed: int) -> dict[str, float]:
    """Errors of all methods in one trial, on the same predictions."""
    served = serve(table, rows.predict, target_columns(table, seed, share), model, SETTINGS, seed=seed)
    truth = served.hidden
    # Where no column moves in steps, there is nothing that a grid could add.
    attacks = (*ATTACKS, EqualityGrid) if served.knowledge.columns else ATTACKS
    errors = {attack.name: served.errors(served.attempt(attack()).guess) for attack in attacks}
    found = {name: float(error.mean()) for name, error in errors.items()}
    if EqualityGrid.name in errors:
        found["rows whole"] = float((errors[EqualityGrid.name] < 1e-18).all(axis=1).mean())
    worse = errors[EqualityProjection.name].mean(axis=1) - errors[EqualitySolving.name].mean(axis=1)
    found["largest row loss"] = float(worse.max())
    found["bound"] = error_bound(truth.values)
    return found | reference_errors(truth, public_stream(seed, "guess", table.name))


def _rows(table: PaperTable, share: float, trials: Sequence[dict[str, float]]) -> Iterator[Row]:
    n_target = max(1, round(share * len(table.columns)))
    exact = n_target <= table.n_classes - 1
    baseline = {"mse": mean([trial[UNIFORM] for trial in trials])}
    beside = {"largest row loss", "bound", "rows whole"}
    for method in dict.fromkeys(name for trial in trials for name in trial if name not in beside):
        measured = student_95("mse", [trial[method] for trial in trials if method in trial])
        if method == EqualityGrid.name:
            measured |= {"rows_whole": float(np.mean([trial["rows whole"] for trial in trials if method in trial]))}
            measured |= {"trials": float(sum(method in trial for trial in trials))}
        if method == EqualityProjection.name:
            measured |= {"largest_row_loss": max(trial["largest row loss"] for trial in trials)}
        if method == EqualitySolving.name:
            measured |= {"bound_eq15": float(np.mean([trial["bound"] for trial in trials]))}
        paper: dict[str, float | None] = {}
        if method == EqualitySolving.name:
            paper = {"bound_eq15": ERROR_BOUND[table.name]}
            if exact:
                paper["mse"] = ERROR_BELOW_THRESHOLD
        setting: dict[str, ScalarValue] = {
            "data": table.name,
            "unknown share": share,
            "d_target": n_target,
            "method": method,
        }
        note = "d_target <= c - 1" if exact else ""
        yield Row(setting, measured.figures, paper or None, baseline, note, measured.bands)


class Speed(Experiment):
    name = "luo2021/speed"
    summary = "CPU seconds that equality solving takes on 100,000 rows of 50 columns (synthetic2)"
    reference = Reference("luo2021", "section IV-A")
    needs = Bundled.ALWAYS
    from_true_rows = (STEPS,)

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
    attempt = served.attempt(attack)
    measured = {"cpu_seconds": attempt.cpu_seconds, "mse": float(served.errors(attempt.guess).mean())}
    setting: dict[str, ScalarValue] = {"method": attack.name, "rows": len(attempt.guess.ids)}
    setting |= {"columns": len(table.columns), "unknown": len(target)}
    baseline = {"mse": float(np.mean((served.hidden.values - 0.5) ** 2))}
    return Row(setting, measured, None, baseline, "columns in hundredths" if attack.name == EqualityGrid.name else "")
