"""How each column of a table came out: error beside the baseline's, correlation, share recovered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import SecretKind, Symmetry
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.finding import ColumnResult
from fedleak.metrics.cell_metrics import MeanError, real_valued, within_margin
from fedleak.metrics.metric import Answered, matched_draws

FEWEST_CELLS = 3  # with fewer, a correlation says nothing
TWO_CLASSES = (0.0, 1.0)


def column_results(answered: Answered, *, rng: np.random.Generator) -> tuple[ColumnResult, ...]:
    """A result for each named column; none for rows that are no table, or whose columns are other people's rows.

    Figures are those of the metrics of cells, column by column: of equally good candidates the mean, a cell without a
    guess scored as the column's median, and as not recovered. ``rng`` draws the baseline of matched rows.
    """
    truth, kind = answered.truth, answered.guess.secret.kind
    if not truth.is_table or kind is SecretKind.GRAM:
        return ()
    sized = real_valued(kind, truth) or bool(np.isin(truth.values, TWO_CLASSES).all())
    figures = _Figures(
        _errors(answered, answered.answers) if sized else None,
        _baseline_errors(answered, rng) if sized else None,
        np.mean([within_margin(cells, truth) for cells in answered.answers], axis=0),
    )
    return tuple(_result(answered, figures, column, sized=sized) for column in range(len(truth.columns)))


@dataclass(frozen=True, eq=False)
class _Figures:
    """Of every cell; None where errors have no size."""

    errors: FloatArray | None
    baseline_errors: FloatArray | None
    recovered: FloatArray


def _errors(answered: Answered, answers: Sequence[FloatArray]) -> FloatArray:
    scores = [MeanError().cell_scores(cells, answered.truth, answered.unknown) for cells in answers]
    return np.asarray(np.mean(scores, axis=0))


def _baseline_errors(answered: Answered, rng: np.random.Generator) -> FloatArray:
    """Of the column's median; or, where rows are matched and that does better, of the right columns in wrong rows."""
    silent = _errors(answered, [np.full(answered.truth.values.shape, np.nan)])
    if Symmetry.ROW_ORDER not in answered.up_to:
        return silent
    matched, unknown = _errors(answered, list(matched_draws(answered, rng))), answered.unknown
    better = np.where(unknown, matched, 0.0).sum(axis=0) < np.where(unknown, silent, 0.0).sum(axis=0)
    return np.where(better, matched, silent)


def _result(answered: Answered, figures: _Figures, column: int, *, sized: bool) -> ColumnResult:
    counted = answered.unknown[:, column]
    name, n = answered.truth.columns[column], int(counted.sum())
    if not n:
        return ColumnResult(name, 0, None, None, None, None)
    return ColumnResult(
        name,
        n,
        _mean(figures.errors, counted, column),
        _mean(figures.baseline_errors, counted, column),
        _correlation(answered, counted, column) if sized else None,
        _mean(figures.recovered, counted, column),
    )


def _mean(cells: FloatArray | None, counted: BoolArray, column: int) -> float | None:
    return None if cells is None else float(cells[counted, column].mean())


def _correlation(answered: Answered, counted: BoolArray, column: int) -> float | None:
    """Pearson's, over the cells that were guessed; the mean over the candidates that have one."""
    true = answered.truth.values[:, column]
    found = []
    for cells in answered.answers:
        told = counted & np.isfinite(cells[:, column])
        found.append(correlation(cells[told, column], true[told]))
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if known else None


def correlation(guessed: FloatArray, true: FloatArray) -> float | None:
    """None with too few cells, or where one of the two is the same for all."""
    if len(true) < FEWEST_CELLS or np.ptp(true) == 0 or np.ptp(guessed) == 0:
        return None
    first, second = (cells / np.abs(cells).max() for cells in (guessed, true))  # squares of huge guesses overflow
    first, second = first - first.mean(), second - second.mean()
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.clip(first @ second / lengths, -1.0, 1.0)) if lengths > 0 else None
