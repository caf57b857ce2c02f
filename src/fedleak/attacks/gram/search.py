"""The Gram matrix by a search for rows of known width, where there are too few epochs for a linear solve."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.gram.estimate import N_DISTURBED, TRUSTED, GramEstimate, distances
from fedleak.attacks.gram.low_rank import Factors, observations, recover_factors, refit
from fedleak.attacks.gram.solution import NotIdentified
from fedleak.attacks.gram.trajectory import Trajectory
from fedleak.core.arrays import FloatArray
from fedleak.theory.li2021.gram_recovery import n_unknowns

MAX_UNKNOWNS = 600
SCORES_AN_UNKNOWN = 20  # more do not make the search better
N_STARTS = 4  # one in twenty runs into a local minimum
GOOD_FIT = 1e-6
FAIR_FIT = 1e-2


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
    seen = observations(trajectory, SCORES_AN_UNKNOWN * needed)
    n_scores = len(seen.value)
    # Under noise no start can fit, so that trying again only costs time.
    found = recover_factors(seen, span, rng, n_starts=1 if noisy else N_STARTS)
    if found.misfit > FAIR_FIT:
        why = f"a search found no rows that explain the scores (misfit {found.misfit:.1g})"
        return NotIdentified(why, 0, undetermined=True)
    others = [
        refit(observations(trajectory.disturbed(rng), SCORES_AN_UNKNOWN * needed), found).rows
        for _ in range(N_DISTURBED)
    ]
    gram_error, cell_error = distances(found.rows, others)
    certain = found.misfit < GOOD_FIT and n_scores > needed and gram_error < TRUSTED
    method = f"a search for rows of width {span}, {n_scores} scores for {needed} unknowns, misfit {found.misfit:.1g}"
    factor = np.pad(found.rows, ((0, 0), (0, width - span)))
    return GramEstimate(factor, _end_scores(trajectory, found), method, None, span, gram_error, cell_error, certain)


def _end_scores(trajectory: Trajectory, found: Factors) -> FloatArray:
    """X W after the last update."""
    last = trajectory.states[-1]
    return np.asarray(found.rows @ (last[0] * found.first + found.rows.T @ last[1:]))
