"""The values of one column from scores w_t x_i over training (Hu et al. 2022, theorem 3.5), up to one sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.training.ratio_forest import Observations, RankOne, join_products, refine
from fedleak.attacks.training.scored_round import ScoredRound, remaining
from fedleak.core.arrays import FloatArray

LINK_STRENGTH = 50.0  # a score this many times its error is not zero, and links its row to others


@dataclass(frozen=True, eq=False)
class Column:
    values: FloatArray  # NaN where not determined
    n_zero: int  # cells that are zero: they link nothing, and are known to be zero
    n_sets: int
    misfit: float  # root mean square of what one column leaves unexplained, over that of the scores
    scale_misfit: float  # the same for the weights' course, which fixes the scale


def recover_column(rounds: Sequence[ScoredRound], n_rows: int) -> Column | None:
    """None where no scale can be had: nothing links, or the weights' course contradicts a real scale."""
    seen, links, silent = _observe(rounds)
    if not len(links.value):
        return None
    joined = refine(join_products(links, len(rounds), n_rows), links)
    zero = _zero_rows(seen, links, silent, joined, n_rows)
    rows = np.where(zero, 0.0, joined.rows)
    scale, scale_misfit = _scale(rounds, rows, joined.weights)
    if scale is None:
        return None
    explained = joined.weights[links.batch] * joined.rows[links.row]
    inside = np.isfinite(explained)
    misfit = _rms(links.value[inside] - explained[inside]) / _rms(links.value[inside])
    return Column(scale * rows, int(zero.sum()), joined.n_sets, misfit, scale_misfit)


def _observe(rounds: Sequence[ScoredRound]) -> tuple[Observations, Observations, set[int]]:
    """All observations, those that link, and the rounds without any link (zero weight: they say 0 = 0)."""
    batch = np.concatenate([np.full(len(r.rows), t) for t, r in enumerate(rounds)])
    row = np.concatenate([r.rows for r in rounds])
    value = np.concatenate([r.scores for r in rounds])
    error = np.concatenate([np.full(len(r.rows), r.error) for r in rounds])
    known = np.isfinite(value)
    seen = Observations(batch[known], row[known], value[known], error[known])
    strong = np.abs(seen.value) > LINK_STRENGTH * seen.error
    links = Observations(seen.batch[strong], seen.row[strong], seen.value[strong], seen.error[strong])
    return seen, links, set(range(len(rounds))) - set(links.batch.tolist())


def _zero_rows(seen: Observations, links: Observations, silent: set[int], joined: RankOne, n_rows: int) -> np.ndarray:
    """Rows that never link although they were in a round whose weight is not zero."""
    links_somewhere = np.zeros(n_rows, dtype=bool)
    links_somewhere[links.row] = True
    loud = ~np.isin(seen.batch, list(silent)) & np.isfinite(joined.weights[seen.batch])
    seen_loud = np.zeros(n_rows, dtype=bool)
    seen_loud[seen.row[loud]] = True
    return seen_loud & ~links_somewhere


def _scale(rounds: Sequence[ScoredRound], rows: FloatArray, weights: FloatArray) -> tuple[float | None, float]:
    """Eq. 13 over all rounds: with x = a x', w = w' / a, the update reads w'_{t+1} - w'_t = -a^2 step sum_j r_j x'_j.

    Least squares over the sums since the start of each unbroken run of rounds; where weights shrink, both sides are
    divided by what the shrinking leaves.
    """
    drifts, courses = [], []
    left = remaining(rounds)
    for run in _unbroken_runs(rounds, rows, weights):
        increments = [
            -rounds[t].step * float(rounds[t].residuals @ rows[rounds[t].rows]) / left[t + 1] for t in run[:-1]
        ]
        drift = np.concatenate([[0.0], np.cumsum(increments)])
        course = weights[run] / left[run]
        drifts.append(drift - drift.mean())
        courses.append(course - course.mean())
    if not drifts:
        return None, float("nan")
    drift_all, course_all = np.concatenate(drifts), np.concatenate(courses)
    if not drift_all.any():
        return None, float("nan")
    square = float(drift_all @ course_all) / float(drift_all @ drift_all)
    misfit = _rms(course_all - square * drift_all) / max(_rms(course_all), 1e-300)
    return (float(np.sqrt(square)), misfit) if square > 0 else (None, misfit)


def _unbroken_runs(rounds: Sequence[ScoredRound], rows: FloatArray, weights: FloatArray) -> list[list[int]]:
    """Runs of rounds t, t+1, ... whose weights are known, each step between them with all its rows known."""
    runs: list[list[int]] = [[]]
    for t, one in enumerate(rounds):
        if not np.isfinite(weights[t]):
            runs.append([])
            continue
        runs[-1].append(t)
        if not (np.isfinite(rows[one.rows]).all() and np.isfinite(one.residuals).all()):
            runs.append([])
    return [run for run in runs if len(run) > 1]


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0
