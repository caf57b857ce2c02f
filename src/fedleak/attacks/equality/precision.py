"""How far the right side of an equation can be from the truth: rounding errors, and what was done to confidences."""

from __future__ import annotations

import numpy as np

from fedleak.attacks.predictions import PredictionCase
from fedleak.core.arrays import FloatArray
from fedleak.models.inversion.equations import ScoreEquations
from fedleak.models.inversion.rounding_errors import rounding_errors
from fedleak.models.linear import LinearModel, Link


def tolerances(case: PredictionCase, equations: ScoreEquations) -> FloatArray:
    """(rows, equations); infinite where a confidence says no more than that it is small."""
    rounding: FloatArray = rounding_errors(equations, case.confidences).copy()
    if case.release.is_exact:
        return rounding
    slack = log_slack(case)[equations.rows]
    for index, row in enumerate(equations.difference):
        # The classes of an equation alone: infinity times zero is not a number.
        rounding[:, index] += slack[:, np.flatnonzero(row)].sum(axis=1)
    return rounding


def log_slack(case: PredictionCase) -> FloatArray:
    """(rows, classes): by how much ln v, or logit v, may be off for all that the released confidence may have been."""
    assert isinstance(case.model, LinearModel)
    half, middle = case.release.reach, case.release.centred(case.confidences)
    room = middle - half
    if case.model.link is Link.SIGMOID_EACH:
        room = np.minimum(room, 1.0 - middle - half)
        room = np.where(room > 0, room * (1.0 - room), room)
    return np.where(room > 0, half / np.where(room > 0, room, 1.0), np.inf)
