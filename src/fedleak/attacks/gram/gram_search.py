"""The Gram matrix by a search for rows of known width, where there are too few epochs for a linear solve.

It is what theorem 3.6 of Hu et al. 2022 leaves in the open. Scores are g_it = x_i . w_t, a matrix of rank k with only
the batches' entries seen, and the weights move by w_{t+1} = w_t - step sum_j r_j x_j with known residuals. A rotation
of rows and weights changes nothing of this, so the rows come out up to a rotation, and their inner products exactly.
The unknowns are the N k cells and the first weights, where ``gram_of_all_rows`` solves for N + 1 unknowns a row: about
k epochs do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.gram.gram_estimate import N_DISTURBED, TRUSTED, GramEstimate, distances, left_over, turned_onto
from fedleak.attacks.residuals.trajectory import Trajectory
from fedleak.attacks.verdicts import NotIdentified
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.theory.inner_products import n_unknowns

MAX_UNKNOWNS = 600
SCORES_AN_UNKNOWN = 20  # more do not make the search better
N_STARTS = 4  # one in twenty runs into a local minimum
GOOD_FIT = 1e-6
FAIR_FIT = 1e-2
NEARLY_FIT = 1e-4  # from here on all digits are asked for
EXPLAINED = 10.0  # errors of the scores: rows that leave more of them over are not the victim's, however small it is


def search_gram(
    trajectory: Trajectory, width: int, rng: np.random.Generator, *, noisy: bool
) -> GramEstimate | NotIdentified:
    """A good fit with more scores than unknowns is the view's own sign of success."""
    needed = n_unknowns(trajectory.n_rows, width)
    span = min(width, trajectory.n_rows)  # rows of more columns lie in as many dimensions as there are rows
    n_known = sum(int(np.isfinite(one.scores).sum()) for one in trajectory.rounds)
    if n_known < needed:
        return NotIdentified(f"{n_known} scores are known, and a search needs {needed}", 0)
    if needed > MAX_UNKNOWNS:
        why = f"the {needed} unknowns of a search are over its budget of {MAX_UNKNOWNS}"
        return NotIdentified(why, 0, undetermined=True)
    # Read only now: of many rows the course of the weights is a large table.
    seen = seen_scores(trajectory, SCORES_AN_UNKNOWN * needed)
    n_scores = len(seen.value)
    # Under noise no start can fit, so that trying again only costs time.
    found = recover_factors(seen, span, rng, n_starts=1 if noisy else N_STARTS)
    if found.misfit < NEARLY_FIT:
        found = sharpened(seen, found)
    if found.misfit > FAIR_FIT:
        why = f"a search found no rows that explain the scores (misfit {found.misfit:.1g})"
        return NotIdentified(why, 0, undetermined=True)
    rest = left_over(trajectory, found.rows)
    others = [
        refit(seen_scores(trajectory.disturbed(rng, max(1.0, rest)), SCORES_AN_UNKNOWN * needed), found).rows
        for _ in range(N_DISTURBED)
    ]
    gram_error, cell_error = distances(found.rows, others)
    explained = found.misfit < GOOD_FIT and rest < EXPLAINED
    determined = n_scores > needed and n_determined(seen, found) >= needed
    certain = explained and determined and gram_error < TRUSTED
    method = f"a search for rows of width {span}, {n_scores} scores for {needed} unknowns, misfit {found.misfit:.1g}"
    factor, *turned = (
        np.pad(rows, ((0, 0), (0, width - span))) for rows in (found.rows, *turned_onto(found.rows, others))
    )
    end = _end_scores(trajectory, found)
    return GramEstimate(factor, end, method, None, span, gram_error, cell_error, tuple(turned), certain)


def _end_scores(trajectory: Trajectory, found: Factors) -> FloatArray:
    """X W after the last update."""
    last = trajectory.states[-1]
    return np.asarray(found.rows @ (last[0] * found.first + found.rows.T @ last[1:]))


SWEEPS = 150
MAX_STEPS = 120
MAX_SHARPENED = 12
INDEPENDENT = 1e-11  # of the largest singular value
MOST_SHARPENED = 2_000_000  # entries of the system that is solved in each of these steps
SETTLED = 0.999  # a step that leaves more than this share of the squares is the last
RIDGE = 1e-9
SPARE_WIDTH = 2
GOOD_ENOUGH = 1e-8  # a misfit that needs no other start


@dataclass(frozen=True, eq=False)
class SeenScores:
    """Scores, flat: entry (row, round) has ``value``; ``moved`` is c_t, a row a round."""

    row: IntArray
    round: IntArray
    value: FloatArray
    error: FloatArray
    moved: FloatArray  # (rounds, rows): w_t = left_t (w_0 + X' c_t)
    left: FloatArray  # (rounds,)
    n_rows: int


@dataclass(frozen=True, eq=False)
class Factors:
    rows: FloatArray  # (rows, k), up to a rotation
    first: FloatArray  # the weights at the start, turned with the rows
    misfit: float  # root mean square of what is unexplained, over that of the scores

    @property
    def gram(self) -> FloatArray:
        return self.rows @ self.rows.T


def seen_scores(trajectory: Trajectory, max_scores: int) -> SeenScores:
    """The known scores of the first rounds, up to about ``max_scores``: later ones only cost time."""
    row, number, value, error = [], [], [], []
    n_seen = 0
    for t, one in enumerate(trajectory.rounds):
        if n_seen >= max_scores:
            break
        seen = np.isfinite(one.scores)
        row.append(one.rows[seen])
        number.append(np.full(int(seen.sum()), t))
        value.append(one.scores[seen])
        error.append(trajectory.errors_of(one)[seen])
        n_seen += int(seen.sum())
    states = trajectory.states[: len(row)]
    left = states[:, 0]
    return SeenScores(
        np.concatenate(row),
        np.concatenate(number),
        np.concatenate(value),
        np.concatenate(error),
        states[:, 1:] / left[:, None],
        left,
        trajectory.n_rows,
    )


def recover_factors(seen: SeenScores, width: int, rng: np.random.Generator, *, n_starts: int) -> Factors:
    """The best of a few random starts, by how well the scores are explained."""
    best = _one_start(seen, width, rng)
    for _ in range(n_starts - 1):
        if best.misfit < GOOD_ENOUGH:
            break
        best = min(best, _one_start(seen, width, rng), key=lambda one: one.misfit)
    return best


def _one_start(seen: SeenScores, width: int, rng: np.random.Generator) -> Factors:
    """With a few columns too many descent finds its way past local minima; then the weakest are dropped one by one."""
    rows, weights = _alternate(seen, width, rng)
    rows, first = _with_metric(seen, rows, weights)
    spare = 0.3 * float(np.sqrt(np.mean(rows**2))) * rng.standard_normal((len(rows), SPARE_WIDTH))
    rows, first = np.hstack([rows, spare]), np.concatenate([first, np.zeros(SPARE_WIDTH)])
    for kept in range(width + SPARE_WIDTH, width - 1, -1):
        rows, first = _strongest(rows, first, kept)
        rows, first, misfit = _descend(seen, rows, first)
    return Factors(rows, first, misfit)


def refit(seen: SeenScores, start: Factors) -> Factors:
    """The nearest rows that explain other scores."""
    return sharpened(seen, Factors(*_descend(seen, start.rows, start.first)))


def _strongest(rows: FloatArray, first: FloatArray, width: int) -> tuple[FloatArray, FloatArray]:
    """Rotated to principal axes, only the first ``width`` kept."""
    axes: FloatArray = np.linalg.svd(rows, full_matrices=False)[2][:width]
    return rows @ axes.T, axes @ first


def _alternate(seen: SeenScores, width: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Low-rank completion by alternating least squares, dynamics ignored."""
    weights = rng.standard_normal((len(seen.left), width))
    rows = np.zeros((seen.n_rows, width))
    for _ in range(SWEEPS):
        rows = _least_squares(seen.row, weights[seen.round], seen.value, seen.n_rows)
        weights = _least_squares(seen.round, rows[seen.row], seen.value, len(seen.left))
    return rows, weights


def _least_squares(index: IntArray, factors: FloatArray, values: FloatArray, count: int) -> FloatArray:
    """For each index the v with the least sum of (value - v . factor)^2, lightly ridged."""
    width = factors.shape[1]
    normal = np.zeros((count, width, width))
    right = np.zeros((count, width))
    np.add.at(normal, index, factors[:, :, None] * factors[:, None, :])
    np.add.at(right, index, factors * values[:, None])
    scale = max(float(np.einsum("nii->n", normal).mean()), 1e-300)
    solved = np.linalg.solve(normal + RIDGE * scale * np.eye(width), right[:, :, None])[:, :, 0]
    return np.asarray(solved, dtype=np.float64)


def _with_metric(seen: SeenScores, rows: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Completion leaves a linear map open. The course fixes its metric: w_t / left_t = a + S rows' c_t, S symmetric."""
    width = rows.shape[1]
    pushed = seen.moved @ rows
    pairs = [(i, j) for i in range(width) for j in range(i, width)]
    blocks = np.zeros((len(seen.left), width, width + len(pairs)))
    blocks[:, np.arange(width), np.arange(width)] = 1.0
    for position, (i, j) in enumerate(pairs):
        blocks[:, i, width + position] += pushed[:, j]
        if i != j:
            blocks[:, j, width + position] += pushed[:, i]
    target = weights / seen.left[:, None]
    answer = np.linalg.lstsq(blocks.reshape(-1, width + len(pairs)), target.ravel(), rcond=None)[0]
    metric = np.zeros((width, width))
    for position, (i, j) in enumerate(pairs):
        metric[i, j] = metric[j, i] = answer[width + position]
    values, vectors = np.linalg.eigh(metric)
    root = vectors * np.sqrt(np.maximum(values, 1e-6 * max(float(values[-1]), 1e-12)))
    return rows @ root, np.linalg.lstsq(root, answer[:width], rcond=None)[0]


def _descend(seen: SeenScores, rows: FloatArray, first: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Levenberg-Marquardt on rows and first weights, with the dynamics inside; the misfit comes with them."""
    damping = 1e-3
    rest = _rest(seen, rows, first)
    for _ in range(MAX_STEPS):
        jacobian = _jacobian(seen, rows, first)
        normal = jacobian.T @ jacobian
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-12), jacobian.T @ rest)
        new_rows = rows + step[: rows.size].reshape(rows.shape)
        new_first = first + step[rows.size :]
        new_rest = _rest(seen, new_rows, new_first)
        if new_rest @ new_rest < rest @ rest:
            done = rest @ rest - new_rest @ new_rest < 1e-14 * (rest @ rest)
            rows, first, rest, damping = new_rows, new_first, new_rest, max(damping / 5, 1e-12)
            if done:
                break
        else:
            damping *= 4
            if damping > 1e8:
                break
    misfit = float(np.linalg.norm(rest) / max(float(np.linalg.norm(seen.value)), 1e-300))
    return rows, first, misfit


def sharpened(seen: SeenScores, start: Factors) -> Factors:
    """Gauss-Newton without squaring the system, every score by its own error and unknowns brought to one size.

    Descent by normal equations does not move along directions that are weaker than its damping: columns of different
    sizes have such directions, and how far they are off would not show either.
    """
    from scipy.linalg import lstsq

    rows, first = start.rows, start.first
    if len(seen.value) * (rows.size + first.size) > MOST_SHARPENED:
        return start
    rest = _rest(seen, rows, first) / seen.error
    for _ in range(MAX_SHARPENED):
        jacobian = _jacobian(seen, rows, first) / seen.error[:, None]
        sizes = np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
        step = lstsq(jacobian / sizes, rest, cond=1e-13, lapack_driver="gelsy")[0] / sizes
        new_rows = rows + step[: rows.size].reshape(rows.shape)
        new_first = _first_of(seen, new_rows)  # not by the step: rows and first weights share a curved valley
        new_rest = _rest(seen, new_rows, new_first) / seen.error
        if not new_rest @ new_rest <= rest @ rest:
            break
        settled = new_rest @ new_rest > SETTLED * (rest @ rest)
        rows, first, rest = new_rows, new_first, new_rest
        if settled:
            break
    misfit = float(np.linalg.norm(rest * seen.error) / max(float(np.linalg.norm(seen.value)), 1e-300))
    return Factors(rows, first, misfit)


def n_determined(seen: SeenScores, found: Factors) -> int:
    """Directions of the unknowns in which some score moves. A row without a score has none of its own, and refits from
    the same start would not show it."""
    jacobian = _jacobian(seen, found.rows, found.first) / seen.error[:, None]
    jacobian = jacobian / np.maximum(np.linalg.norm(jacobian, axis=0), 1e-300)
    singular = np.linalg.svd(jacobian, compute_uv=False)
    return int((singular > INDEPENDENT * singular[0]).sum())


def _first_of(seen: SeenScores, rows: FloatArray) -> FloatArray:
    """The best first weights of given rows, by linear least squares."""
    own, left = rows[seen.row], seen.left[seen.round]
    design = own * (left / seen.error)[:, None]
    pushed = left * np.einsum("ok,ok->o", own, (seen.moved @ rows)[seen.round])
    sizes = np.maximum(np.linalg.norm(design, axis=0), 1e-300)
    found = np.linalg.lstsq(design / sizes, (seen.value - pushed) / seen.error, rcond=1e-15)[0]
    return np.asarray(found / sizes)


def _rest(seen: SeenScores, rows: FloatArray, first: FloatArray) -> FloatArray:
    weights = seen.left[:, None] * (first + seen.moved @ rows)
    rest: FloatArray = seen.value - np.einsum("ok,ok->o", rows[seen.row], weights[seen.round])
    return rest


def _jacobian(seen: SeenScores, rows: FloatArray, first: FloatArray) -> FloatArray:
    """d g_it = left_t (d x_i . u_t + x_i . (d w_0 + d X' c_t)), u_t = w_0 + X' c_t."""
    n_rows, width = rows.shape
    left, own = seen.left[seen.round], rows[seen.row]
    moved = seen.moved[seen.round] * left[:, None]
    block = moved[:, :, None] * own[:, None, :]
    current = (first + seen.moved @ rows)[seen.round] * left[:, None]
    block[np.arange(len(seen.value)), seen.row] += current
    return np.hstack([block.reshape(-1, n_rows * width), own * left[:, None]])
