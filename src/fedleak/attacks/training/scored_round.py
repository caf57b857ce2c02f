"""What an adversary knows of a round once it has the outside party's scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.training.outside_score import OutsideScores
from fedleak.attacks.training.schedule import rate_of, shrink_of
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.facts import Facts


@dataclass(frozen=True, eq=False)
class ScoredRound:
    """Row positions, the outside party's score of each (NaN where unknown), the residuals that it trains with.

    The step subtracts ``step`` times the sum of residual times row, after the weights shrank by ``shrink``.
    """

    rows: IntArray
    scores: FloatArray
    residuals: FloatArray
    step: float
    error: float  # of a score
    shrink: float = 1.0


def scored_rounds(facts: Facts, found: OutsideScores) -> list[ScoredRound]:
    # Noise on the shared scores is far above rounding; the joining has to know how far scores can be trusted.
    noise = (facts.outside_noise or 0.0) / 50
    return [
        ScoredRound(
            one.rows,
            one.scores,
            one.trained_with,
            rate_of(facts, one.round) / len(one.rows),
            max(one.error, noise),
            shrink_of(facts, one.round),
        )
        for one in found.rounds
    ]


def remaining(rounds: Sequence[ScoredRound]) -> FloatArray:
    """P_t: what the shrinking of all earlier rounds leaves of the first weights; one entry more than rounds."""
    return np.concatenate([[1.0], np.cumprod([one.shrink for one in rounds])])
