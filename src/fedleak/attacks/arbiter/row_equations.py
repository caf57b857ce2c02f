"""Each row by itself: z_i(t) = x_i . S(t) + c_i, one equation a visit, with the weights' known steps S.

c_i = x_i . W0 (less the target, where labels are in the scores) never moves and is one unknown more; from zero weights
there is none. Rows with the same visits share one singular value decomposition, so that a recurring batch takes one.
What it leaves open, or known to few digits, is kept as directions: these are for the gradients to settle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.arbiter.opened_training import OpenedTraining
from fedleak.core.arrays import FloatArray, IntArray

RANK_TOLERANCE = 1e-13  # weaker directions, relative to the strongest, are rounding of floating point
SMALL = 0.01  # share of a column's spread, up to which an error leaves the spread visible
TOUCHED = 1e-9  # smaller parts in an open direction are rounding too
CONSTANT = 1e-4  # share of a constant column's size that stands for its spread
FINE = 1e-8  # of a column's spread: what is known better than this is taken as known
CHUNK = 1 << 21  # numbers in a stack of systems that are decomposed at once


@dataclass(frozen=True, eq=False)
class RowEquations:
    """``values`` are of least norm where directions are open; ``errors`` leave out what coarse directions add."""

    rows: IntArray
    values: FloatArray  # (rows, columns)
    errors: FloatArray  # (rows, columns), standard deviations
    owner: IntArray  # (directions,): the row of a coarse direction
    directions: FloatArray  # (directions, columns)
    deviation: FloatArray  # (directions,): how well the scores know it; infinite where they do not
    misfit: float  # sum of squared residuals, in units of their variance
    n_spare: int  # equations beyond the rank

    @property
    def consistent(self) -> bool:
        return fits(self.misfit, self.n_spare)

    def all_errors(self) -> FloatArray:
        """With the coarse directions' part."""
        with np.errstate(invalid="ignore"):
            parts = np.where(self.directions == 0, 0.0, self.directions * self.deviation[:, None])
        added = np.zeros_like(self.errors)
        np.add.at(added, self.owner, parts**2)
        return np.sqrt(self.errors**2 + added)


def fits(misfit: float, n_spare: int) -> bool:
    """Residuals within three times what rounding explains; without a spare equation nothing speaks against."""
    return n_spare == 0 or misfit <= 9.0 * n_spare


def spread(values: FloatArray, errors: FloatArray) -> FloatArray:
    """Of each column, over the cells that are known to a small share of it: what is not known would inflate it.

    Of a constant column a small share of its size; 0 where no cell is known.
    """
    return np.array([_spread_of_column(*column) for column in zip(values.T, errors.T, strict=True)])


def _spread_of_column(values: FloatArray, errors: FloatArray) -> float:
    known = np.isfinite(errors)
    while known.any():
        found = float(np.std(values[known])) + CONSTANT * float(np.sqrt(np.mean(values[known] ** 2)))
        fewer = known & (errors <= SMALL * found)
        if np.array_equal(fewer, known):
            return found
        known = fewer
    return 0.0


def solve_rows(training: OpenedTraining) -> RowEquations:
    design, scale = _design(training)
    parts = [_solve(training, design, scale, group) for group in _groups(training)]
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    return RowEquations(
        np.arange(training.n_rows),
        np.concatenate([part.values for part in parts])[order],
        np.concatenate([part.errors for part in parts])[order],
        np.concatenate([part.owner for part in parts]),
        np.concatenate([part.directions for part in parts]),
        np.concatenate([part.deviation for part in parts]),
        sum(part.misfit for part in parts),
        sum(part.n_spare for part in parts),
    )


def _design(training: OpenedTraining) -> tuple[FloatArray, FloatArray]:
    """A line a round, over its error; columns of one length, so that no column's unit decides what counts as rank."""
    lines = training.walked
    if training.open_start:
        lines = np.column_stack([lines, np.ones(len(lines))])
    scale = np.linalg.norm(lines, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return lines / scale / training.score_error[:, None], scale


@dataclass(frozen=True, eq=False)
class _Group:
    """``schedules`` (systems, visits) of rounds, each visited by the rows of ``rows`` (systems, rows a system)."""

    schedules: IntArray
    rows: IntArray
    visits: IntArray  # (systems, rows a system, visits): positions among all visits


def _groups(training: OpenedTraining) -> Iterator[_Group]:
    """Rows with equally many visits, and schedules with equally many rows: whatever fits one stack of matrices."""
    counts = np.bincount(training.row, minlength=training.n_rows)
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    for n_visits in np.unique(counts):
        rows = np.flatnonzero(counts == n_visits)
        visits = first[rows][:, None] + np.arange(n_visits)
        schedules, which, times = np.unique(training.round[visits], axis=0, return_inverse=True, return_counts=True)
        by_schedule = np.argsort(which.ravel(), kind="stable")
        start = np.concatenate([[0], np.cumsum(times)[:-1]])
        step = max(1, CHUNK // (int(n_visits) * (training.n_columns + 1)))
        for n_rows in np.unique(times):
            systems = np.flatnonzero(times == n_rows)
            for low in range(0, len(systems), step):
                some = systems[low : low + step]
                members = by_schedule[start[some][:, None] + np.arange(n_rows)]
                yield _Group(schedules[some], rows[members], visits[members])


def _solve(training: OpenedTraining, design: FloatArray, scale: FloatArray, group: _Group) -> RowEquations:
    stack = design[group.schedules]  # (systems, visits, unknowns)
    observed = (training.scores / training.score_error[training.round])[group.visits]
    n_visits, n_unknown = stack.shape[1:]
    left, singular, right = np.linalg.svd(stack, full_matrices=n_visits < n_unknown)
    rank = np.sum(singular > RANK_TOLERANCE * singular[:, :1], axis=1)
    solid = np.arange(n_unknown) < rank[:, None]  # singular values fall
    strength = np.where(solid, np.pad(singular, ((0, 0), (0, n_unknown - singular.shape[1]))), 1.0)
    left = np.pad(left, ((0, 0), (0, 0), (0, max(0, n_unknown - left.shape[2]))))[:, :, :n_unknown] * solid[:, None, :]
    shown = observed @ left  # (systems, rows a system, directions)
    values = ((shown / strength[:, None, :]) @ right / scale)[:, :, : training.n_columns].reshape(
        -1, training.n_columns
    )
    return _split(
        group.rows,
        values,
        (np.where(solid[:, :, None] | (np.abs(right) > TOUCHED), right, 0.0) / scale)[:, :, : training.n_columns],
        np.where(solid, 1.0 / strength, np.inf),
        misfit=float(np.sum((observed - shown @ left.transpose(0, 2, 1)) ** 2)),
        n_spare=int(group.rows.shape[1] * np.sum(n_visits - rank)),
    )


def _split(
    rows: IntArray, values: FloatArray, directions: FloatArray, deviation: FloatArray, *, misfit: float, n_spare: int
) -> RowEquations:
    """Directions that no cell feels are dropped, fine ones become errors, coarse ones stand for each row."""
    felt = np.max(np.abs(directions), axis=2, initial=0.0) > 0
    with np.errstate(invalid="ignore"):
        reach = np.where(directions == 0, 0.0, np.abs(directions) * deviation[:, :, None])
    all_errors = np.repeat(np.sqrt(np.sum(reach**2, axis=1)), rows.shape[1], axis=0)
    scale = spread(values, all_errors)
    scale = np.where(scale > 0, scale, np.median(np.abs(values - np.median(values, axis=0)), axis=0))
    coarse = felt & np.any(reach > FINE * scale, axis=2)  # (systems, directions)
    errors = np.sqrt(np.sum(np.where(coarse[:, :, None], 0.0, reach) ** 2, axis=1))
    system, place = np.nonzero(coarse)
    n_rows = rows.shape[1]
    return RowEquations(
        rows.ravel(),
        values,
        np.repeat(errors, n_rows, axis=0),
        rows[system].ravel(),
        np.repeat(directions[system, place], n_rows, axis=0),
        np.repeat(deviation[system, place], n_rows),
        misfit,
        n_spare,
    )
