"""Residuals of logistic regression under the replacements of the sigmoid that encryption can compute, and back.

A residual is the approximated sigmoid of the score minus the label (0 or 1); ``sign`` is the label as -1 or +1.
Equation numbers are those of Hu et al. 2022.
"""

from __future__ import annotations

from enum import StrEnum
from math import sqrt

import numpy as np

from fedleak.core.arrays import FloatArray

CUBIC = -0.004  # eq. 122, minimax on [-5, 5]: the coefficients of z^3 and z
LINEAR = 0.197
TURNING_POINT = sqrt(LINEAR / (-3 * CUBIC))  # 4.05: the cubic rises up to here, and falls beyond
CUBIC_SAFE_SCORE = 3.2  # |CUBIC z^3 + LINEAR z| < 1/2 below it
PIECEWISE_EDGE = 0.5  # eq. 138: flat from here on


class Approximation(StrEnum):
    TAYLOR = "taylor"
    CUBIC = "cubic"
    PIECEWISE = "piecewise"


def residual(scores: FloatArray, signs: FloatArray, approximation: Approximation) -> FloatArray:
    """Eqs. 5 (over 4), 124 and 140."""
    if approximation is Approximation.TAYLOR:
        return scores / 4 - signs / 2
    if approximation is Approximation.CUBIC:
        return CUBIC * scores**3 + LINEAR * scores - signs / 2
    return np.clip(scores, -PIECEWISE_EDGE, PIECEWISE_EDGE) - signs / 2


def score_interval(
    residuals: FloatArray, signs: FloatArray, approximation: Approximation
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The score that a residual and its label stand for: (best value, lowest, highest possible).

    Taylor: exact. Cubic: the middle of three roots, right while |score| < 4.05; inside that band the
    outer roots remain possible, outside it the root is unique (appendix E). Piecewise: exact, or only a half-line
    with NaN as value (appendix F, eqs. 143 and 144).
    """
    smooth = residuals + signs / 2
    if approximation is Approximation.TAYLOR:
        return (exact := 4 * smooth), exact, exact
    if approximation is Approximation.CUBIC:
        roots = cubic_roots(smooth)
        return roots[:, 1], roots[:, 0], roots[:, 2]
    return _piecewise_scores(smooth)


def cubic_roots(values: FloatArray) -> FloatArray:
    """Real roots z of CUBIC z^3 + LINEAR z = value, lowest first, (rows, 3); a single root stands three times.

    Vieta's trigonometric form of z^3 - P z + q = 0, P = 49.25, q = 250 value.
    """
    p, q = LINEAR / -CUBIC, np.asarray(values, dtype=np.float64) / -CUBIC
    scale = 2 * sqrt(p / 3)
    ratio = 1.5 * q / p * sqrt(3 / p)
    third = np.arcsin(np.clip(ratio, -1, 1)) / 3
    three = scale * np.sin(np.stack([third - 2 * np.pi / 3, third, third + 2 * np.pi / 3], axis=1))
    # Outside the band one real root remains, beyond the turning point on the other side.
    outside = np.abs(ratio) > 1
    beyond = np.where(outside, np.abs(ratio), 1.0)
    single = -np.sign(ratio) * scale * np.cosh(np.arccosh(beyond) / 3)
    return np.where(outside[:, None], single[:, None], np.sort(three, axis=1))


def _piecewise_scores(smooth: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    # The flat parts are exact in fixed point, up to rounding in the gradients that the residual is solved from.
    flat_high = smooth >= PIECEWISE_EDGE - 1e-7
    flat_low = smooth <= -PIECEWISE_EDGE + 1e-7
    value = np.where(flat_high | flat_low, np.nan, smooth)
    low = np.where(flat_high, PIECEWISE_EDGE, np.where(flat_low, -np.inf, smooth))
    high = np.where(flat_low, -PIECEWISE_EDGE, np.where(flat_high, np.inf, smooth))
    return value, low, high
