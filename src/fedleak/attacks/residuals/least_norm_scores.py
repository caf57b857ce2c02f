"""What a gradient tells of the partner's scores where it does not determine a single one.

X'(4 r) = 4 s g is as many equations as there are independent own columns, and r is linear in the partner's score: with
labels and own scores known, the part of its scores that lies in the span of the own columns is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.residuals.batch_residuals import approximation_of, deviating_member
from fedleak.attacks.residuals.batch_systems import RANK_TOLERANCE, BatchSystem, batch_systems
from fedleak.attacks.residuals.own_side import OwnScore
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.view import View
from fedleak.models.sigmoid import Approximation


@dataclass(frozen=True, eq=False)
class LeastNormScores:
    ids: IntArray  # (cells, 2): round and row
    values: FloatArray  # (cells, 1)
    rank: int  # directions that are determined, over all rounds

    @property
    def n_unknowns(self) -> int:
        return len(self.values)


def least_norm_scores(view: View) -> LeastNormScores | None:
    """None where scores are not linear in what is known: labels of others, another sigmoid, opened shares."""
    own = OwnScore(view)
    linear = approximation_of(view) is Approximation.TAYLOR and deviating_member(view) is None
    if own.signs is None or not linear:
        return None
    found = [_of_batch(own, own.signs, system) for system in batch_systems(view)]
    return LeastNormScores(
        np.concatenate([part.ids for part in found]),
        np.concatenate([part.values for part in found]),
        sum(part.rank for part in found),
    )


def _of_batch(own: OwnScore, signs: FloatArray, system: BatchSystem) -> LeastNormScores:
    """X' z = 4 s g + X'(2 y - own score), from f = g - 2y (eq. 5 of Hu et al. 2022) and eq. 10."""
    rows = own.positions(system.ids)
    known = 2 * signs[rows] - own.scores(system.round, rows)
    right = 4 * len(rows) * system.gradient + system.rows.T @ known
    scores, _, rank, _ = np.linalg.lstsq(system.rows.T, right, rcond=RANK_TOLERANCE)
    ids = np.column_stack([np.full(len(rows), system.round), system.ids])
    return LeastNormScores(ids, np.asarray(scores, dtype=np.float64)[:, None], int(rank))
