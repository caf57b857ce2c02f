"""Whether an answer names the mean of a column, whatever it says of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, isfinite, tanh

import numpy as np

from fedleak.core.adversary import Symmetry
from fedleak.core.arrays import BoolArray, FloatArray, flat_rows
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.blind import Blind

FEWEST_ROWS = 3
LARGEST = tanh(1.0)
SMALL = 2.0


def chance_as_near(distance: float, blind_distance: float) -> float:
    """At most how likely a guess that knows nothing comes so near, where the best blind one is ``blind_distance`` off.

    A density that falls to both sides of a blind answer is at most 1 / 2x at a distance of x from it, so that the
    chance to come within t x of a point there is at most ln((1 + t) / (1 - t)) / 2 = artanh t; in any number of
    dimensions, as the guess is as near along the line from the blind answer to the truth.
    """
    if not isfinite(distance) or blind_distance <= 0 or distance >= LARGEST * blind_distance:
        return 1.0
    return atanh(distance / blind_distance)


def anybody_names(values: FloatArray) -> BoolArray:
    """Small whole numbers and halves: codes, counts, ends of scales. To hit them proves nothing."""
    return np.asarray((np.abs(values) <= SMALL) & (2 * values == np.rint(2 * values)))


def means_by_luck(
    answers: Sequence[FloatArray],
    truth: SecretValues,
    unknown: BoolArray,
    blinds: Sequence[Blind],
    up_to: frozenset[Symmetry],
) -> FloatArray:
    """Of each cell of a row, flat: how likely its mean is named so well by luck."""
    true, counted = flat_rows(truth.values), flat_rows(unknown)
    found = np.ones(true.shape[1])
    if up_to & {Symmetry.ROW_ORDER, Symmetry.ROTATION}:
        return found  # matched, it has the truth's means
    choices = (2 if Symmetry.GLOBAL_SIGN in up_to else 1) * (len(found) if Symmetry.COLUMN_ORDER in up_to else 1)
    tables = [flat_rows(answer) for answer in answers]
    for column in range(len(found)):
        luck = [_mean_by_luck(table[:, column], true, counted, blinds, column) for table in tables]
        found[column] = min(1.0, choices * float(np.mean(luck)))
    return found


def _mean_by_luck(
    cells: FloatArray, table: FloatArray, counted: BoolArray, blinds: Sequence[Blind], column: int
) -> float:
    """Better than every blind answer, and better than who knows the population: that one is off by the error of a mean
    of so many rows, and right by chance where means are whole numbers of something."""
    rows = counted[:, column] & np.isfinite(cells)
    true, n = table[rows, column], int(rows.sum())
    alike = n > 1 and np.ptp(true) == 0  # the deviation of equal decimals may not be 0
    if n < FEWEST_ROWS and not alike:
        return 1.0
    middle = float(true.mean())
    distance = abs(float(cells[rows].mean()) - middle)
    named = [np.broadcast_to(blind.cells[:, column], len(table))[rows].mean() for blind in blinds]
    near = chance_as_near(distance, min((abs(float(one) - middle) for one in named), default=0.0))
    if alike:
        return 1.0 if anybody_names(true[:1])[0] else near
    spread = float(true.std(ddof=1))
    apart = np.diff(np.unique(true)).min() / (2 * n)
    return max(near, _within((distance + float(apart)) * n**0.5 / spread))


def _within(deviations: float) -> float:
    """The share of normal values that are no further from the mean than so many deviations."""
    from scipy.special import erf

    return float(erf(deviations / 2**0.5))
