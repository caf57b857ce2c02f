"""How far rounding errors alone can put an equation off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedleak.core.arrays import FloatArray

if TYPE_CHECKING:
    from fedleak.models.inversion.equations import ScoreEquations

# Last digits by which a sum of this size may be off, on the model's side and on the reader's: at least, and for each
# term of a long sum. 500 terms of one sign come to a sixth of that.
FLOAT_ERRORS, PER_TERM = 4.0, 1 / 8


def rounding_errors(equations: ScoreEquations, confidences: FloatArray) -> FloatArray:
    """(rows, equations): bounds, from the size of the terms."""
    return np.asarray(max(FLOAT_ERRORS, PER_TERM * equations.n_terms) * last_digit(confidences) * equations.size)


def last_digit(confidences: FloatArray) -> float:
    """Half a unit in the last place: of single precision where every confidence is a single-precision number."""
    single = bool(np.array_equal(confidences, confidences.astype(np.float32)))
    return float(np.finfo(np.float32 if single else np.float64).eps) / 2
