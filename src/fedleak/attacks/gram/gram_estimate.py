"""The Gram matrix of a victim's rows by linear algebra, in factored form, with how far it can be trusted.

One batch that recurs (eq. 3 of Li et al. 2021) is solved twice. ``naive_gram`` is the paper's way: as many equations as
the batch has rows, from updates that become collinear as training goes on. ``rank_aware_gram`` uses that the scores Z =
A [W_1 ... W_K] have rank n only. With P an orthonormal basis of their range, z_k = P s_k and C = P M P^T, the update
rule reads

    s_{k+1} - (1 - rate l2) s_k = -(rate / m) M P^T d_k,   M symmetric, n x n:

about n independent updates are enough, where the naive way needs m.

Shuffled mini-batches: every visit to row i is one equation z_i(t) = p(t) v_i + G_i . c(t) in the N + 1 unknowns (v_i,
G_i). After N + 1 epochs row i of the Gram matrix, cross-batch products included, is a linear solve; shuffling keeps the
c(t) from becoming collinear, and rows that the batches never hold together are tied through the model. Li et al. 2021
stop at one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.trajectory import Trajectory
from fedleak.attacks.verdicts import NotIdentified
from fedleak.core.arrays import FloatArray, IntArray

N_DISTURBED = 3
TRUSTED = 0.05  # a Gram matrix that one more draw of the noise moves by more than this share is not recovered


@dataclass(frozen=True, eq=False)
class GramEstimate:
    """``factor`` F with G = F F^T; ``end_scores`` are X W after the last update."""

    factor: FloatArray  # (rows, n)
    end_scores: FloatArray
    method: str
    condition: float | None  # of the linear solve; None where there was none
    rank: int
    gram_error: float  # expected relative error of G, by disturbing the trajectory
    cell_error: float  # expected error of a cell of F R with the best R
    others: tuple[FloatArray, ...] = ()  # factors of disturbed trajectories, turned onto this one: how it may be off
    certain: bool = True  # False where other rows may explain the scores as well

    @property
    def gram(self) -> FloatArray:
        return np.asarray(self.factor @ self.factor.T)


def estimate_gram(trajectory: Trajectory, width: int, rng: np.random.Generator) -> GramEstimate | NotIdentified:
    """By the recurring batch where there is one, else by all rows together."""
    solve = rank_aware_gram if trajectory.repeats else gram_of_all_rows
    return graded(solve(trajectory, width), lambda: solve(trajectory.disturbed(rng), width))


def graded(
    solution: GramSolution | NotIdentified, again: Callable[[], GramSolution | NotIdentified]
) -> GramEstimate | NotIdentified:
    """With how far it can be trusted; ``again`` solves once more with the noise drawn anew."""
    if isinstance(solution, NotIdentified):
        return solution
    others = _disturbed_factors(solution, again)
    gram_error, cell_error = distances(solution.factor, others) if others else (float("inf"), float("inf"))
    if not gram_error < TRUSTED:
        return NotIdentified(
            f"the trajectory does not fix the Gram matrix: its own noise moves it by {gram_error:.1g} of its size "
            f"(condition {solution.condition:.1g}); the updates are collinear",
            solution.rank,
            undetermined=True,  # digits are missing, no equation
        )
    return GramEstimate(
        solution.factor,
        solution.end_scores,
        solution.method,
        solution.condition,
        solution.rank,
        gram_error,
        cell_error,
        tuple(others),
    )


def _disturbed_factors(solution: GramSolution, again: Callable[[], GramSolution | NotIdentified]) -> list[FloatArray]:
    """The answers when the noise is drawn once more, turned onto this one; none where that leaves no answer.

    An independent check of how large the noise is: what the solve left that no rows explain (an asymmetry, a rank
    too many) is compared with what the drawn noise adds to it. Where it is more, the answers are as much further off.
    """
    factors, added = [], []
    for _ in range(N_DISTURBED):
        other = again()
        if isinstance(other, NotIdentified) or other.factor.shape != solution.factor.shape:
            return []
        factors.append(other.factor)
        added.append(float(np.linalg.norm(other.unexplained - solution.unexplained)))
    expected = float(np.sqrt(np.mean(np.square(added))))
    times = max(1.0, float(np.linalg.norm(solution.unexplained)) / max(expected, 1e-300))
    return [solution.factor + times * (other - solution.factor) for other in turned_onto(solution.factor, factors)]


def left_over(trajectory: Trajectory, factor: FloatArray) -> float:
    """What the rows leave unexplained of the scores, in units of the scores' errors: about 1 where all is right.

    An independent check: the rows have far fewer cells than the solve had unknowns. z(t) = F (p(t) w + F^T c(t)), the
    first weights w by least squares.
    """
    states = trajectory.states
    design, target = [], []
    for number, step in enumerate(trajectory.rounds):
        seen = np.isfinite(step.scores)
        rows, errors = factor[step.rows[seen]], trajectory.errors_of(step)[seen]
        pushed = rows @ (factor.T @ states[number, 1:])
        design.append(states[number, 0] * rows / errors[:, None])
        target.append((step.scores[seen] - pushed) / errors)
    system, right = np.vstack(design), np.concatenate(target)
    first = np.linalg.lstsq(system, right, rcond=1e-14)[0]
    return float(np.sqrt(np.mean((right - system @ first) ** 2)))


def turned_onto(factor: FloatArray, others: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
    """The other factors after the rotation that brings each closest to this one."""
    turned = []
    for other in others:
        left, _, right = np.linalg.svd(other.T @ factor)
        turned.append(np.asarray(other @ (left @ right)))
    return tuple(turned)


def distances(factor: FloatArray, others: Sequence[FloatArray]) -> tuple[float, float]:
    """The largest distance to other answers: relative for the Gram matrix, and of a cell after the best rotation."""
    gram = factor @ factor.T
    size = float(np.linalg.norm(gram)) or 1.0
    gram_error, cell_error = 0.0, 0.0
    for other in turned_onto(factor, others):
        gram_error = max(gram_error, float(np.linalg.norm(other @ other.T - gram)) / size)
        cell_error = max(cell_error, float(np.sqrt(np.mean((other - factor) ** 2))))
    floor = float(np.finfo(np.float64).eps)
    return max(gram_error, floor), max(cell_error, floor * float(np.sqrt(np.mean(factor**2))))


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
    from scipy.linalg import lstsq

    scores, residuals, rates = stacked(trajectory)
    moves, pushes = _update_sides(scores, residuals, rates, trajectory)
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
    moves, pushes = _update_sides(basis.T @ scores, basis.T @ residuals, rates, trajectory)
    metric = symmetric_metric(moves, pushes)
    if isinstance(metric, NotIdentified):
        return metric
    noise = trajectory.noise * float(np.sqrt(n_rounds * m)) / metric.smallest
    factor, n_solid = factored(basis @ metric.matrix @ basis.T, width, noise)
    last = trajectory.rounds[-1]
    end = scores[:, -1] * (1 - last.rate * trajectory.l2) - last.rate / m * (factor @ (factor.T @ residuals[:, -1]))
    method = f"one recurring batch of {m} rows"
    return GramSolution(factor, end, method, metric.condition, n_solid, metric.unexplained)


@dataclass(frozen=True, eq=False)
class SymmetricMetric:
    """M with moves = M pushes, as far as a symmetric one can."""

    matrix: FloatArray
    condition: float
    smallest: float  # singular value of the equations
    unexplained: FloatArray


def symmetric_metric(moves: FloatArray, pushes: FloatArray) -> SymmetricMetric | NotIdentified:
    """By least squares in its upper triangle; (coordinates, updates) on both sides."""
    from scipy.linalg import lstsq

    rank, n_updates = pushes.shape
    design = symmetric_design(pushes)
    solution, _, design_rank, singular = lstsq(design, moves.ravel(), cond=1e-13)
    n_unknown = rank * (rank + 1) // 2
    if design_rank < n_unknown:
        why = f"{n_updates} updates of the same batch give {design_rank} equations for {n_unknown} unknowns"
        return NotIdentified(why, int(design_rank))
    matrix = np.zeros((rank, rank))
    matrix[np.triu_indices(rank)] = solution
    matrix = matrix + np.triu(matrix, 1).T
    unexplained = moves.ravel() - design @ solution
    return SymmetricMetric(matrix, float(singular[0] / singular[-1]), float(singular[-1]), unexplained)


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


def _update_sides(
    scores: FloatArray, residuals: FloatArray, rates: FloatArray, trajectory: Trajectory
) -> tuple[FloatArray, FloatArray]:
    """Left and right side of the update rule, a column an update."""
    moves = scores[:, 1:] - (1 - rates[:-1] * trajectory.l2) * scores[:, :-1]
    return moves, -(rates[:-1] / trajectory.n_rows) * residuals[:, :-1]


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
    unexplained = gram - factor @ factor.T
    return GramSolution(factor, end, f"shuffled mini-batches, all {n_rows} rows", worst, n_solid, unexplained)


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


@dataclass(frozen=True, eq=False)
class GramSolution:
    factor: FloatArray  # (rows, n)
    end_scores: FloatArray  # X W after the last update
    method: str
    condition: float
    rank: int
    unexplained: FloatArray  # what no rows of this width account for: zero but for errors


def factored(gram: FloatArray, width: int, noise: float) -> tuple[FloatArray, int]:
    """F (rows, width) of the closest Gram matrix of that rank, and how many directions stand out of the noise."""
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    order = np.argsort(values)[::-1][: min(width, len(values))]
    kept = np.maximum(values[order], 0.0)
    factor = np.zeros((len(gram), width))
    factor[:, : len(order)] = vectors[:, order] * np.sqrt(kept)
    floor = max(noise, 1e-14 * float(kept[0])) if len(kept) else noise
    return factor, int(np.sum(kept > floor))
