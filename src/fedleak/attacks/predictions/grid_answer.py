"""Answers on a grid: which unknown columns take whole multiples of a step, and which of a row's solutions is likely.

The steps are what the adversary is declared to know. Cells start with given answers; rows for which the grid has
solutions take theirs. Of several, how likely each is is learnt from all rows together: a column's values have a
distribution, which is the same in every row, and wrong solutions scatter (expectation maximisation over the columns'
histograms). They start as the training rows that trees counted say; a column of which none were counted
starts as the histogram of all own columns.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions.equality_projection import project_to_box
from fedleak.attacks.predictions.prediction_case import PredictionCase, counted_unknowns, own_histogram
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Status
from fedleak.core.knowledge import ColumnKind, Knowledge, KnownColumn
from fedleak.core.payload import ScalarValue
from fedleak.models.inversion.counted_columns import N_BINS, ColumnHistogram, bins_of
from fedleak.models.inversion.equations import ScoreEquations, numerical_rank
from fedleak.models.inversion.grid_solution import GridSolutions
from fedleak.models.inversion.whole_equations import Grid

SLACK = 1e-9  # room for rounding errors about a cell that is determined
DETERMINED = 1e-3  # a continuous cell that may be off by more, as a share of its range, is not determined


class GridAnswer:
    def __init__(self, case: PredictionCase, grid: Grid, values: FloatArray, intervals: FloatArray) -> None:
        self.values, self.intervals = values.copy(), intervals.copy()
        self._case, self._grid = case, grid
        self._prior = prior_histograms(case, grid)
        self._n_solutions = np.zeros(len(case.ids), dtype=np.int64)
        self._whole = np.zeros(len(case.ids), dtype=np.bool_)  # rows whose every cell is determined
        self._listed, self._tried = True, False

    def take(
        self, found: GridSolutions, equations: ScoreEquations | None = None, tolerance: FloatArray | None = None
    ) -> None:
        """``equations``, within ``tolerance``, are what continuous unknowns follow from, where there are any."""
        self._tried = True
        if not len(found.rows):
            return
        self._listed &= found.listed
        weights = solution_weights(found.rows, found.points, self._prior)
        rows, starts, counts = np.unique(found.rows, return_index=True, return_counts=True)
        on_grid = np.ix_(rows, np.flatnonzero(self._grid.stepped))
        self.values[on_grid] = np.add.reduceat(found.points * weights[:, None], starts)
        if found.listed:
            room = SLACK + self._grid.slack[self._grid.stepped]
            low, high = np.minimum.reduceat(found.points, starts), np.maximum.reduceat(found.points, starts)
            self.intervals[on_grid] = np.stack([low - room, high + room], axis=2)
        self._n_solutions[rows] = counts
        single = rows[counts == 1]
        determined = np.full(len(single), self._grid.stepped.all())
        if equations is not None and tolerance is not None and not self._grid.stepped.all():
            determined = self._continuous(equations, tolerance, single, found.listed)
        self._whole[single] = determined & found.listed

    def _continuous(self, equations: ScoreEquations, tolerance: FloatArray, rows: IntArray, listed: bool) -> BoolArray:
        """The continuous unknowns of rows whose others are found; true where the equations determine them."""
        stepped, free = np.flatnonzero(self._grid.stepped), np.flatnonzero(~self._grid.stepped)
        left, singular, across = np.linalg.svd(equations.matrix[:, free], full_matrices=False)
        rank = numerical_rank(singular)
        known = self.values[np.ix_(rows, stepped)] @ equations.matrix[:, stepped].T
        place = np.searchsorted(equations.rows, rows)
        change = left[:, :rank] / singular[:rank]
        right = (equations.right[place] - known) @ change
        cells = np.ix_(rows, free)
        if rank < len(free):
            self.values[cells] = project_to_box(self.values[cells], across[:rank], right).points
            return np.zeros(len(rows), dtype=np.bool_)
        solved = right @ across
        # A weak column is determined only as well as the equations hold, over its weight.
        off = tolerance[place] + np.abs(equations.matrix[:, stepped]) @ self._grid.slack[stepped]
        error = off @ np.abs(change @ across) + SLACK
        self.values[cells] = inside = np.clip(solved, 0.0, 1.0)
        if listed:
            self.intervals[cells] = np.clip(np.stack([inside - error, inside + error], axis=2), 0.0, 1.0)
        return np.asarray(((error <= DETERMINED) & (np.abs(solved - inside) <= error)).all(axis=1))

    @property
    def evidence(self) -> dict[str, ScalarValue]:
        return {
            "rows": len(self._whole),
            "unknown columns": self._case.n_unknown,
            "columns of known step": int(self._grid.stepped.sum()),
            "bits of the grid": self._grid.log2_points,
            "rows with one solution": int((self._n_solutions == 1).sum()),
            "rows with several": int((self._n_solutions > 1).sum()),
            "rows that are determined whole": int(self._whole.sum()),
        }

    @property
    def conclusion(self) -> tuple[Status, str]:
        if not len(self._whole):
            return Status.NOT_IDENTIFIABLE, "no prediction was released"
        if self._whole.all():
            return Status.RECOVERED, "in every row one combination of values fits the prediction, and no other does"
        n_rows, n_found = len(self._whole), int((self._n_solutions > 0).sum())
        if not self._tried:
            n_free = int((~self._grid.stepped).sum())
            taken = f", after {n_free} for continuous unknown columns" if n_free else ""
            return Status.PARTIAL, f"the confidences leave no equation for the columns of known step{taken}"
        if not n_found:
            return Status.PARTIAL, "the predictions do not tell the combinations of values apart"
        listed = "all of them listed" if self._listed else "more than could be listed"
        return Status.PARTIAL, f"combinations of values fit in {n_found} of {n_rows} rows, {listed}"


OFF_GRID = 1e-6  # how far a column's range may be from whole steps
MOST_STEPS = 2**52  # more are no grid to float64


def known_grid(case: PredictionCase, knowledge: Knowledge) -> Grid:
    """From the declared steps; whole numbers have step 1."""
    declared = {column.column: column for column in knowledge.columns}
    steps, slack = np.zeros(case.n_unknown, dtype=np.int64), np.zeros(case.n_unknown)
    for index, name in enumerate(case.unknown_columns):
        column = declared.get(name)
        step = _step(column)
        n_steps = case.span[index] / step if step else 0.0
        if not 0.5 < n_steps < MOST_STEPS:
            continue
        off = abs(n_steps - round(n_steps)) / n_steps
        if off <= OFF_GRID:
            steps[index] = round(n_steps)
            slack[index] = off + (column.slack / case.span[index] if column else 0.0)
    return Grid(steps, slack)


def _step(column: KnownColumn | None) -> float | None:
    if column is None:
        return None
    if column.step is not None:
        return column.step
    return 1.0 if column.kind in (ColumnKind.INTEGER, ColumnKind.BINARY) else None


N_ITERATIONS = 8  # few: a histogram that is driven on grows spikes
OWN_ROWS, COUNTED_ROWS = 50.0, 500.0  # the first histogram counts as many rows: that of own columns, and a counted one
LEAST_COUNT = 1e-3  # of a bin, as a share of an even one: nothing is ruled out
FINEST = 10_000  # steps of a column; of a finer one the steps at the borders do not matter


def prior_histograms(case: PredictionCase, grid: Grid) -> FloatArray:
    """(stepped columns, bins), in rows: how a column's values spread before a prediction is looked at."""
    counted = counted_unknowns(case)
    if counted is None:
        return np.broadcast_to(OWN_ROWS * own_histogram(case).shares, (int(grid.stepped.sum()), N_BINS))
    return np.stack([_counted_bins(counted[j], int(grid.steps[j])) for j in np.flatnonzero(grid.stepped)])


def _counted_bins(column: ColumnHistogram, n_steps: int) -> FloatArray:
    """A value stands for all up to half a step from it, as thresholds lie between values."""
    n_cells = min(n_steps, FINEST)
    edges = np.clip((np.arange(n_cells + 2) - 0.5) / n_cells, 0.0, 1.0)
    mass = np.diff(column.below(edges))
    shares = np.bincount(bins_of(np.arange(n_cells + 1) / n_cells), mass, N_BINS) + LEAST_COUNT / N_BINS
    return np.asarray(COUNTED_ROWS * shares / shares.sum())


def solution_weights(rows: IntArray, points: FloatArray, prior: FloatArray) -> FloatArray:
    """(solutions,), summing to one over each row; ``rows`` is ascending, all values are on the unit interval.

    ``prior`` (columns, bins) are the histograms to begin with, in rows.
    """
    _, starts, owner = np.unique(rows, return_index=True, return_inverse=True)
    weights = np.ones(len(rows))
    if len(starts) == len(rows):
        return weights
    bins = bins_of(points)
    share = prior / prior.sum(axis=1, keepdims=True)
    for _ in range(N_ITERATIONS):
        likelihood = sum(np.log(share[j])[bins[:, j]] for j in range(points.shape[1]))
        likelihood = np.exp(likelihood - np.maximum.reduceat(likelihood, starts)[owner])
        weights = likelihood / np.bincount(owner, likelihood)[owner]
        seen = np.stack([np.bincount(bins[:, j], weights, N_BINS) for j in range(points.shape[1])])
        counts = seen + prior
        share = counts / counts.sum(axis=1, keepdims=True)
    return weights
