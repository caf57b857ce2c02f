"""How columns are written, as the coalition's own rows show it, and inner products of two values as those of 0 and 1.

A column of two values l and h, say a standardised flag, is x = l + (h − l) b with b of zeros and ones. Its square says
how many ones there are, x·x = m l² + (h² − l²) s, and with that the products of all such columns are counts again:

    x_i·x_j = m l_i l_j + l_i w_j s_j + l_j w_i s_i + w_i w_j b_i·b_j,    w = h − l.

Values ±1 say nothing of their number. Beside other columns they are solved for like any number; where all columns hold
±1, rows may change their signs, labels with them, and no product does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedleak.attacks.binary.completed_rows import has_parity
from fedleak.attacks.binary.observed_products import Products
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.steps import FEATURES
from fedleak.core.view import View

TELLING = 0.05  # a count must be known to this


@dataclass(frozen=True, eq=False)
class Coding:
    """What the coalition's own rows, which have the same columns, say of how a column is written."""

    possible: BoolArray  # no other value than 0 and 1 is among them
    shown: BoolArray  # there are two values or more
    whole: BoolArray  # whole numbers from 0 on, others than 0 and 1 among them
    low: FloatArray  # of columns with exactly two values; 0 and 1 elsewhere
    high: FloatArray

    @property
    def coded(self) -> BoolArray:
        """Two values that are not 0 and 1."""
        return np.asarray((self.low != 0) | (self.high != 1), dtype=np.bool_)


def own_coding(view: View, n_columns: int) -> Coding:
    """Inner products alone do not tell 0/1 from other codes: a standardised column looks like one of ones only."""
    tables = [view.table(FEATURES, name).values for name in view.coalition if FEATURES.name in view.names(name)]
    own = np.vstack([np.zeros((0, n_columns)), *(np.asarray(table, dtype=np.float64) for table in tables)])
    values = [np.unique(column) for column in own.T]
    possible = ((own == 0) | (own == 1)).all(axis=0)
    whole = ((own >= 0) & (own == np.rint(own))).all(axis=0) & ~possible
    two = np.array([len(found) == 2 for found in values], dtype=np.bool_) & ~possible & ~whole
    return Coding(
        possible,
        np.array([len(found) > 1 for found in values], dtype=np.bool_),
        whole,
        np.array([found[0] if pair else 0.0 for found, pair in zip(values, two, strict=True)]),
        np.array([found[1] if pair else 1.0 for found, pair in zip(values, two, strict=True)]),
    )


@dataclass(frozen=True, eq=False)
class Decoded:
    """Products of columns of zeros and ones, with what such an entry is off by; ``columns``: those that it holds of."""

    products: Products
    columns: BoolArray
    error: float


def decoded(group: Products, coding: Coding) -> Decoded:
    """Two values as 0 and 1. Products with columns that are not known to have two values stay as they are."""
    assert group.alpha is not None
    assert group.beta is not None
    if group.needs_integers or not coding.coded.any():
        return Decoded(group, coding.possible, group.fit.uncertainty)
    low, width = coding.low, coding.high - coding.low
    telling = np.abs(coding.high**2 - low**2)
    spread = (1 + 2 * np.abs(low) * np.abs(width) / np.maximum(telling, 1e-300)) / width**2
    columns = coding.possible | (coding.coded & (spread * group.fit.uncertainty < TELLING))
    ones = (group.alpha.diagonal() - group.n_rows * low**2) / np.where(columns, coding.high**2 - low**2, 1.0)
    crossed = np.outer(low, width * ones)
    counts = group.alpha - group.n_rows * np.outer(low, low) - crossed - crossed.T
    both = np.logical_and.outer(columns, columns)
    alpha = np.where(both, counts / np.outer(width, width), group.alpha)
    beta = _sums_over_labels(group.beta, alpha, group.n_rows, low, width, columns)
    error = group.fit.uncertainty * float(spread[columns].max(initial=1.0)) * 2
    return Decoded(replace(group, alpha=alpha, beta=beta), columns, error)


def _sums_over_labels(
    beta: FloatArray, alpha: FloatArray, n_rows: int, low: FloatArray, width: FloatArray, columns: BoolArray
) -> FloatArray:
    """b·y = (x·y − l Σy) / w: of all sums Σy that so many labels may have, the one that gives every column the parity
    of its count. NaN where that is not one."""
    sums = [np.where(columns, (beta - low * total) / width, beta) for total in range(-n_rows, n_rows + 1, 2)]
    fitting = [found for found in sums if bool(has_parity(found, alpha, 0.05)[columns].all())]
    return fitting[0] if len(fitting) == 1 else np.where(columns & (low != 0), np.nan, beta)
