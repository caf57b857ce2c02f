"""What the last bits of a difference of floating-point numbers say of a term that is one of two known numbers.

A party computes d = v - c in single or double precision, v unknown and c one of two. Where v has to be larger than d,
its grid is the coarser one, and d is a whole multiple of it: a last bit that is set rules that c out. Where v is
smaller than d, d was rounded, ties to even, which favours bits that are not set. How likely d is under a c is the
length that the v have which give it: a v of the grid stands for one spacing, and nearby all v are as likely.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedleak.core.arrays import FloatArray

Precision = type[np.floating[Any]]
MANTISSA_BITS: dict[Precision, int] = {np.float32: 23, np.float64: 52}
FINE = 8  # where v's grid is so much finer than d's, ties are rare: every d is as likely
NEVER = 1e-30  # in spacings of d: a length that stands for none, so that one contradiction outweighs all other evidence
LEAST_SET = 0.05  # share of numbers whose last bit is set: of a coarser fixed point none, of such differences a fifth
LEAST_NUMBERS = 8
TRUST = 0.25  # of bits that are not set: v is a sum itself, and where its terms cancel it has such bits of its own


def precision_of(values: FloatArray) -> Precision | None:
    """The least that holds these numbers, if they use the whole of it: many of them have its last bit."""
    used = values[values != 0]
    if len(used) < LEAST_NUMBERS:
        return None
    found: Precision = np.float32 if np.array_equal(used.astype(np.float32), used) else np.float64
    return found if np.mean(np.rint(used / spacing(used, found)) % 2 != 0) >= LEAST_SET else None


def spacing(values: FloatArray, precision: Precision) -> FloatArray:
    """Of numbers of this size."""
    _, exponents = np.frexp(np.where(values == 0, 2.0**-100, values))
    return np.asarray(np.ldexp(1.0, exponents - 1 - MANTISSA_BITS[precision]))


def log_ratio(differences: FloatArray, one: float, other: float, precision: Precision) -> FloatArray:
    """Of each d = v - c, log P(d | c = one) - log P(d | c = other), from the last bits alone."""
    lengths = (_length(differences, c, precision) for c in (one, other))
    return np.asarray(TRUST * np.subtract(*(np.log(length) for length in lengths)))


def _length(d: FloatArray, c: float, precision: Precision) -> FloatArray:
    """Of all v for which v - c is rounded to d, in spacings of d."""
    near, own = d + c, spacing(d, precision)
    grid = np.maximum(spacing(near, precision), own / FINE)
    v = (np.rint(near / grid)[:, None] + np.arange(-FINE, FINE + 1)) * grid[:, None]
    held = v.astype(precision)
    gives = (held == v) & (held - precision(c) == d[:, None].astype(precision))
    found = np.where(spacing(near, precision) < own / FINE, own, gives.sum(axis=1) * grid)
    return np.maximum(found / own, NEVER)
