"""The Gram matrix of all rows from shuffled mini-batches: one linear system a row.

Every visit to row i is one equation z_i(t) = p(t) v_i + G_i . c(t) in the N + 1 unknowns (v_i, G_i). After N + 1 epochs
row i of the Gram matrix, cross-batch products included, is a linear solve; shuffling keeps the c(t) from becoming
collinear, and rows that the batches never hold together are tied through the model. Li et al. 2021 stop at one batch.
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.gram.solution import GramSolution, NotIdentified, factored
from fedleak.attacks.gram.trajectory import Trajectory
from fedleak.core.arrays import FloatArray, IntArray

COLLINEAR = 1e-13  # singular values below this share of the largest hold no digit


def gram_of_all_rows(trajectory: Trajectory, width: int) -> GramSolution | NotIdentified:
    n_rows = trajectory.n_rows
    visits = _visits(trajectory)
    fewest = min(len(rounds) for rounds, _ in visits)
    if fewest < n_rows + 1:
        why = f"every row is visited {fewest} times or more; {n_rows + 1} visits are needed for {n_rows} rows"
        return NotIdentified(why, fewest)
    states = trajectory.states
    gram, starts = np.zeros((n_rows, n_rows)), np.zeros(n_rows)
    worst, least_rank = 1.0, n_rows + 1
    for row, (rounds, scores) in enumerate(visits):
        solution, _, rank, singular = np.linalg.lstsq(states[rounds], scores, rcond=COLLINEAR)
        starts[row], gram[row] = solution[0], solution[1:]
        least_rank = min(least_rank, int(rank))
        worst = max(worst, float(singular[0] / max(singular[-1], 1e-300)))
    if least_rank < n_rows + 1:
        why = f"the updates span {least_rank} of {n_rows + 1} directions; batches that recur make them collinear"
        return NotIdentified(why, least_rank)
    asymmetry = float(np.linalg.norm(gram - gram.T, 2)) / 2  # a symmetric matrix was not asked for: this is pure error
    factor, n_solid = factored(gram, width, asymmetry)
    start, *_ = np.linalg.lstsq(factor, starts, rcond=1e-12)
    end = factor @ (states[-1, 0] * start + factor.T @ states[-1, 1:])
    return GramSolution(factor, end, f"shuffled mini-batches, all {n_rows} rows", worst, n_solid)


def _visits(trajectory: Trajectory) -> list[tuple[IntArray, FloatArray]]:
    """For every row, the rounds in which its score was seen, and the scores."""
    rounds: list[list[int]] = [[] for _ in range(trajectory.n_rows)]
    scores: list[list[float]] = [[] for _ in range(trajectory.n_rows)]
    for number, step in enumerate(trajectory.rounds):
        seen = np.isfinite(step.scores)
        for row, score in zip(step.rows[seen], step.scores[seen], strict=True):
            rounds[int(row)].append(number)
            scores[int(row)].append(float(score))
    return [(np.array(r, dtype=np.int64), np.array(s)) for r, s in zip(rounds, scores, strict=True)]
