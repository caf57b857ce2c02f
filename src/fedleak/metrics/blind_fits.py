"""Blind answers that differ from row to row: regressions and nearest rows, fitted on the known cells alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray

PENALTIES = (0.1, 1.0, 10.0)  # of standardised predictors; the best is chosen by the truth
N_NEAREST = 5
MAX_PREDICTORS = 120  # of more, the first: what is blind must stay cheap
MAX_COLUMNS = 200
MOST_NEIGHBOURS = 500  # rows that the nearest are looked for among
MAX_DISTANCES = 5 * 10**7


def fitted_tables(known: FloatArray, beside: FloatArray) -> Iterator[tuple[str, FloatArray]]:
    """``known``: the victim's cells, NaN where they are not known; ``beside``: the adversary's own columns."""
    told = np.isfinite(known)
    if not told.any() or known.shape[1] > MAX_COLUMNS:
        return
    own = standardised_columns(beside[:, np.isfinite(beside).all(axis=0)])[:, :MAX_PREDICTORS]
    if own.shape[1]:
        yield from _ridges("own columns", known, told, own)
        yield "nearest rows by own columns", _nearest(own, known, told)
    if known.shape[1] > 1 and own.shape[1] + known.shape[1] <= MAX_PREDICTORS:
        others = standardised_columns(np.where(told, known, np.nan))
        yield from _ridges("all that is known", known, told, np.hstack([own, others]), own.shape[1])


def standardised_columns(columns: FloatArray) -> FloatArray:
    """Columns of mean 0 and variance 1; what is missing, and a constant column, is at the mean."""
    told = np.isfinite(columns)
    counts = np.maximum(told.sum(axis=0), 1)
    centred = np.where(told, columns - np.where(told, columns, 0.0).sum(axis=0) / counts, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / counts)
    return np.asarray(centred / np.where(spread > 0, spread, 1.0))


def _ridges(
    what: str, known: FloatArray, told: BoolArray, design: FloatArray, first: int | None = None
) -> Iterator[tuple[str, FloatArray]]:
    """Column by column, on the rows whose cell is known; from ``first`` on, predictors are the victim's own columns,
    and none predicts itself."""
    guessed = np.zeros((len(PENALTIES), *known.shape))
    for column in range(known.shape[1]):
        rows = told[:, column]
        if rows.any():
            itself = None if first is None else first + column
            guessed[:, :, column] = _fitted(design, known[rows, column], rows, itself)
    for penalty, cells in zip(PENALTIES, guessed, strict=True):
        yield f"ridge regression on {what} ({penalty:g})", cells


def _fitted(design: FloatArray, target: FloatArray, rows: BoolArray, itself: int | None) -> FloatArray:
    mean, middle = target.mean(), design[rows].mean(axis=0)
    centred = design[rows] - middle
    if itself is not None:
        centred[:, itself] = 0.0
    gram, towards, eye = centred.T @ centred, centred.T @ (target - mean), np.eye(design.shape[1])
    weights = np.array([np.linalg.solve(gram + penalty * eye, towards) for penalty in PENALTIES])
    return np.asarray(mean - (weights @ middle)[:, None] + weights @ design.T)


def _nearest(own: FloatArray, known: FloatArray, told: BoolArray) -> FloatArray:
    """Of each column the mean of the nearest rows whose cell is known."""
    guessed, norms = np.zeros(known.shape), (own**2).sum(axis=1)
    n_among = int(np.clip(MAX_DISTANCES // max(known.size, 1), N_NEAREST, MOST_NEIGHBOURS))
    for column in range(known.shape[1]):
        rows = np.flatnonzero(told[:, column])[:n_among]
        if len(rows):
            distance = norms[rows] - 2 * own @ own[rows].T  # but for what is the same for all
            k = min(N_NEAREST, len(rows))
            nearest = np.argpartition(distance, k - 1, axis=1)[:, :k]
            guessed[:, column] = known[rows[nearest], column].mean(axis=1)
    return guessed
