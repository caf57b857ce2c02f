"""How each column of a table came out: error beside the baseline's, correlation, share recovered, share learnt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.finding import ColumnResult
from fedleak.metrics.cell_metrics import CellsRecovered, MeanError, real_valued, within_margin
from fedleak.metrics.metric import Answered, CellMetric
from fedleak.metrics.row_signal import correlations

FEWEST_CELLS = 3  # with fewer, a correlation says nothing
TWO_CLASSES = (0.0, 1.0)


def column_results(answered: Answered) -> tuple[ColumnResult, ...]:
    """A result for each named column; none for rows that are no table, or whose columns are other people's rows.

    Figures are those of the metrics of cells, column by column: of equally good candidates the mean, a cell without a
    guess scored as the best blind answer, and as not recovered.
    """
    truth, kind = answered.truth, answered.guess.secret.kind
    if not truth.is_table or kind is SecretKind.GRAM:
        return ()
    sized = real_valued(kind, truth) or bool(np.isin(truth.values, TWO_CLASSES).all())
    errors, baseline_errors = _errors(answered) if sized else (None, None)
    figures = _Figures(
        errors,
        baseline_errors,
        np.mean([within_margin(cells, truth) for cells in answered.answers], axis=0),
        _learnt(answered) if real_valued(kind, truth) else None,
    )
    return tuple(_result(answered, figures, column, sized=sized) for column in range(len(truth.columns)))


@dataclass(frozen=True, eq=False)
class _Figures:
    """Of every cell, and last of every column; None where errors have no size."""

    errors: FloatArray | None
    baseline_errors: FloatArray | None
    recovered: FloatArray
    learnt: FloatArray | None


def _errors(answered: Answered) -> tuple[FloatArray, FloatArray]:
    metric = MeanError()
    blind = metric.blind_cells(answered)
    return metric.scores_of(answered, blind), metric.baseline_scores(answered, blind)


def _learnt(answered: Answered) -> FloatArray:
    """Of each column the share of the way to the truth, from what tells nothing about single rows: from the best blind
    answer, or from the guess's own cells in other rows where that is better."""
    by_error = _share_of_the_way(MeanError(), answered, perfect=0.0)
    by_cells = _share_of_the_way(CellsRecovered(), answered, perfect=1.0)
    found: FloatArray = np.max([by_error, by_cells, _by_correlation(answered)], axis=0)
    return np.clip(found, 0.0, 1.0)


def _share_of_the_way(metric: CellMetric, answered: Answered, *, perfect: float) -> FloatArray:
    """Column by column, the higher the better."""
    truth, unknown, blind = answered.truth, answered.unknown, metric.blind_cells(answered)
    nothing = metric.column_means(metric.cell_scores(blind, truth), unknown)
    null = [metric.cell_scores(np.where(np.isnan(one), blind, one), truth) for one in answered.null_tables]
    if null:
        nothing = np.maximum(nothing, metric.column_means(np.mean(null, axis=0), unknown))
    reached = metric.column_means(metric.scores_of(answered, blind), unknown)
    room = perfect - nothing
    return np.asarray(np.where(room > 0, (reached - nothing) / np.where(room > 0, room, 1.0), 0.0))


def _by_correlation(answered: Answered) -> FloatArray:
    """Squared correlation, beyond that of a blind answer which differs from row to row."""
    true, counted = answered.truth.values, answered.unknown
    found = np.mean([correlations(answer, true, counted) for answer in answered.answers], axis=0)
    blinds = [correlations(blind.cells, true, counted) for blind in answered.blinds if blind.by_row]
    best = np.max([np.zeros(len(found)), *blinds], axis=0)
    enough = counted.sum(axis=0) >= FEWEST_CELLS
    ahead = (np.maximum(found, 0.0) ** 2 - best**2) / np.maximum(1 - best**2, 1e-12)
    return np.where(enough & (found > best), ahead, 0.0)


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
        None if figures.learnt is None else round(float(figures.learnt[column]), 9),
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
