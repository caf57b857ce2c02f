"""What an attack has to beat: the paper's two random guesses, the constant 0.5, and the true column mean."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.truth import SecretValues

UNIFORM, GAUSSIAN, HALF = "uniform guess", "gaussian guess", "constant 0.5"
COLUMN_MEAN = "column mean (unknown to the attacker)"


def reference_errors(truth: SecretValues, rng: np.random.Generator) -> dict[str, float]:
    """MSE per feature on the unit interval. The Gaussian is N(0.5, 0.25^2), as in section VI-A."""
    values = truth.values

    def error(guess: FloatArray | float) -> float:
        return float(np.mean((guess - values) ** 2))

    return {
        UNIFORM: error(rng.random(values.shape)),
        GAUSSIAN: error(rng.normal(0.5, 0.25, values.shape)),
        HALF: error(0.5),
        COLUMN_MEAN: error(values.mean(axis=0)),
    }
