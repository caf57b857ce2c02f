"""A smooth model that can only be asked, inverted: as a network is, with slopes from answers, and with restarts.

Where a row has as many equations as unknowns, a row that ends off its prediction was caught in a bend of the model and
starts again elsewhere in the box, and takes an end that meets it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.predictions.asked_scores import AskedScores, wanted_ratios
from fedleak.attacks.predictions.mixed_effects import N_ITERATIONS, N_STEPS_DETERMINED, invert_scores
from fedleak.attacks.predictions.network_rows import N_RESTARTS, ON_PREDICTION, misfits, restarted
from fedleak.attacks.predictions.prediction_case import PredictionCase
from fedleak.core.arrays import FloatArray

MOST_ASKED = 600_000  # rows put to the model, in all
N_TRIED = 20  # rows on which it is seen whether the model is smooth


@dataclass(frozen=True, eq=False)
class SmoothAnswer:
    values: FloatArray
    n_met: int  # rows whose prediction the values give back
    n_rows: int  # rows within the budget


def invert_smooth(case: PredictionCase, drawn: FloatArray, rng: np.random.Generator) -> SmoothAnswer | None:
    """``drawn`` is the answer of an ensemble of draws, which rows beyond the budget keep. None: it is not smooth."""
    scores = AskedScores.of(case)
    chosen = np.arange(min(N_TRIED, len(case.ids)))
    if not len(chosen) or not scores.is_smooth(case.inputs(drawn[chosen], chosen), case.unknown_positions):
        return None
    asked_a_row = (1 + 2 * case.n_unknown) * (N_ITERATIONS + (1 + N_RESTARTS) * N_STEPS_DETERMINED)
    rows = np.arange(min(len(case.ids), max(1, MOST_ASKED // asked_a_row)))
    part = case.part(rows)
    wanted = wanted_ratios(part, scores)
    found = invert_scores(part, scores, wanted, rng).values
    if wanted[0].shape[1] >= case.n_unknown:
        found = restarted(part, scores, wanted, found, N_STEPS_DETERMINED, rng)
    values = drawn.copy()
    values[rows] = found
    return SmoothAnswer(values, int((misfits(part, scores, wanted, found) < ON_PREDICTION).sum()), len(rows))
