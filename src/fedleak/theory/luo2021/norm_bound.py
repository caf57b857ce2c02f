"""Eq. 15: the pseudo-inverse's mean squared error is at most twice the mean square of the unknown cells."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray


def error_bound(hidden: FloatArray) -> float:
    """(1 / d_target) sum 2 x^2, averaged over the rows (eq. 15).

    It follows from ||x_hat|| <= ||x|| (eq. 11) and, for eq. 14, from x_hat . x >= 0, which the paper takes from x >= 0
    although x_hat may have negative entries. It holds all the same: x - x_hat is orthogonal to x_hat, so
    x_hat . x = ||x_hat||^2 >= 0, and the error is exactly ||x||^2 - ||x_hat||^2: half the bound suffices.
    """
    return float(2.0 * np.mean(hidden**2))


def sharp_error_bound(hidden: FloatArray) -> float:
    """(1 / d_target) sum x^2: what orthogonality gives, half of eq. 15."""
    return error_bound(hidden) / 2.0
