"""The Gram matrix of one batch that recurs: eq. 3 of Li et al. 2021, solved twice.

``naive_gram`` is the paper's way: as many equations as the batch has rows, from updates that become collinear as
training goes on. ``rank_aware_gram`` uses that the scores Z = A [W_1 ... W_K] have rank n only. With P an orthonormal
basis of their range, z_k = P s_k and C = P M P^T, the update rule reads

    s_{k+1} - (1 - rate l2) s_k = -(rate / m) M P^T d_k,   M symmetric, n x n:

about n independent updates are enough, where the naive way needs m.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lstsq

from fedleak.attacks.gram.solution import GramSolution, NotIdentified, factored
from fedleak.attacks.gram.trajectory import Trajectory
from fedleak.core.arrays import FloatArray


def stacked(trajectory: Trajectory) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scores and residuals (rows, rounds) in table order, and the rates."""
    scores = np.zeros((trajectory.n_rows, len(trajectory.rounds)))
    residuals = np.zeros_like(scores)
    for number, step in enumerate(trajectory.rounds):
        scores[step.rows, number] = step.scores
        residuals[step.rows, number] = step.residuals
    return scores, residuals, np.array([step.rate for step in trajectory.rounds])


def naive_gram(trajectory: Trajectory) -> FloatArray:
    """C from z_{k+1} - (1 - rate l2) z_k = -(rate / m) C d_k over all k (eq. 3; its printed sign is wrong).

    Directions in which the updates are weaker than their noise are left out, which is the best that this way can do.
    """
    scores, residuals, rates = stacked(trajectory)
    moves, pushes = _updates(scores, residuals, rates, trajectory)
    noise = trajectory.noise * float(np.sqrt(sum(scores.shape)))
    solution, *_ = lstsq(pushes.T, moves.T, cond=max(noise / float(np.linalg.norm(pushes, 2)), 1e-15))
    return np.asarray((solution + solution.T) / 2)


def rank_aware_gram(trajectory: Trajectory, width: int) -> GramSolution | NotIdentified:
    scores, residuals, rates = stacked(trajectory)
    m, n_rounds = scores.shape
    rank = min(width, m)
    if n_rounds < 2:
        return NotIdentified("one round shows no update", 0)
    basis, _, _ = np.linalg.svd(scores, full_matrices=True)
    basis = basis[:, :rank]
    moves, pushes = _updates(basis.T @ scores, basis.T @ residuals, rates, trajectory)
    design = symmetric_design(pushes)
    solution, _, design_rank, design_singular = lstsq(design, moves.ravel(), cond=1e-13)
    n_unknown = rank * (rank + 1) // 2
    if design_rank < n_unknown:
        why = f"{n_rounds} rounds on the same batch give {design_rank} independent equations for {n_unknown} unknowns"
        return NotIdentified(why, int(design_rank))
    metric = np.zeros((rank, rank))
    metric[np.triu_indices(rank)] = solution
    metric = metric + np.triu(metric, 1).T
    gram = basis @ metric @ basis.T
    noise = trajectory.noise * float(np.sqrt(n_rounds * m)) / float(design_singular[-1])
    factor, n_solid = factored(gram, width, noise)
    last = trajectory.rounds[-1]
    end = scores[:, -1] * (1 - last.rate * trajectory.l2) - last.rate / m * (factor @ (factor.T @ residuals[:, -1]))
    condition = float(design_singular[0] / design_singular[-1])
    return GramSolution(factor, end, f"one recurring batch of {m} rows", condition, n_solid)


def symmetric_design(pushes: FloatArray) -> FloatArray:
    """Rows: (coordinate, update); columns: the upper triangle of M, so that design @ triu(M) = M @ pushes."""
    width, n_updates = pushes.shape
    first, second = np.triu_indices(width)
    design = np.zeros((width, n_updates, len(first)))
    column = np.arange(len(first))
    design[first, :, column] += pushes[second]
    mixed = first != second
    design[second[mixed], :, column[mixed]] += pushes[first[mixed]]
    return design.reshape(width * n_updates, len(first))


def _updates(
    scores: FloatArray, residuals: FloatArray, rates: FloatArray, trajectory: Trajectory
) -> tuple[FloatArray, FloatArray]:
    """Left and right side of the update rule, a column an update."""
    moves = scores[:, 1:] - (1 - rates[:-1] * trajectory.l2) * scores[:, :-1]
    return moves, -(rates[:-1] / trajectory.n_rows) * residuals[:, :-1]
