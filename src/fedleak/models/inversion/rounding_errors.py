"""How far rounding errors alone can put an equation off."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.models.inversion.equations import ScoreEquations

FLOAT_ERRORS = 4.0  # last digits by which a sum of this size may be off, on the model's side and on the reader's


def rounding_errors(equations: ScoreEquations, confidences: FloatArray) -> FloatArray:
    """(rows, equations): bounds, from the size of the terms."""
    return np.asarray(FLOAT_ERRORS * last_digit(confidences) * equations.size)


def last_digit(confidences: FloatArray) -> float:
    """Half a unit in the last place: of single precision where every confidence is a single-precision number."""
    single = bool(np.array_equal(confidences, confidences.astype(np.float32)))
    return float(np.finfo(np.float32 if single else np.float64).eps) / 2
