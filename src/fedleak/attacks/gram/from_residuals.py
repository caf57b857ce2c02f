"""The trajectory of a two-class model's outside party, from the residuals that a coalition's gradients give.

Labels that nobody in the coalition holds are those of the residuals' signs (Hu et al. 2022, remark 4.9).
"""

from __future__ import annotations

import numpy as np

from fedleak.attacks.gram.solution import NotIdentified
from fedleak.attacks.gram.trajectory import Round, Trajectory
from fedleak.attacks.training.outside_score import SENSITIVITY, OutsideScores, outside_scores
from fedleak.attacks.training.residual_source import approximation_of
from fedleak.attacks.training.schedule import number_option, rate_of
from fedleak.core.arrays import IntArray
from fedleak.core.view import View

EPSILON = float(np.finfo(np.float64).eps)


def trajectory_from_residuals(view: View) -> tuple[IntArray, Trajectory] | NotIdentified:
    """Row ids and the rounds before the first with an open residual: later weights cannot be followed."""
    found = outside_scores(view)
    rounds = []
    for one in found.rounds:
        if not np.isfinite(one.residuals).all():
            break
        rounds.append(Round(one.rows, rate_of(view.facts, one.round), one.trained_with, one.scores))
    if not rounds:
        return NotIdentified("no batch has as many independent equations as rows, so no score is determined", 0)
    noise = _noise(view, found, len(rounds))
    slope = 1 / SENSITIVITY[approximation_of(view)]
    l2 = number_option(view.facts, "l2", 0.0)
    return found.row_ids, Trajectory(len(found.row_ids), l2, tuple(rounds), noise, slope)


def _noise(view: View, found: OutsideScores, n_rounds: int) -> float:
    errors = [one.error for one in found.rounds[:n_rounds]]
    return float(np.hypot(np.sqrt(np.mean(np.square(errors))), view.facts.outside_noise or 0.0)) or EPSILON
