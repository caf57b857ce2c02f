"""Columns that are equal in all of the others' rows show: their entries of every update are equal.

Where they are equal in the curious party's rows too, the model never tells them apart, and inner products with each of
them alone are not determined. Taken as one column, with the sum of their weights, they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fedleak.attacks.binary.observations import Observations
from fedleak.core.arrays import IntArray

SAME_WITHIN = 4.0  # times the rounding of an update


def kinds_of_columns(seen: Observations) -> IntArray:
    """For each column the number of its kind; columns with equal updates in all rounds are of one kind."""
    if seen.withheld:
        return np.arange(seen.n_columns)  # a zero may mean "not sent": nothing can be compared
    kinds = np.zeros(seen.n_columns, dtype=np.int64)
    firsts: list[int] = []
    for column in range(seen.n_columns):
        apart = np.abs(seen.updates[:, firsts] - seen.updates[:, [column]]).max(axis=0, initial=0.0)
        same = np.flatnonzero(apart <= SAME_WITHIN * seen.noise)
        if len(same) and firsts:
            kinds[column] = same[0]
        else:
            kinds[column] = len(firsts)
            firsts.append(column)
    return kinds


def merged(seen: Observations, kinds: IntArray) -> Observations:
    """One column a kind: the weights add up, the updates are equal anyway."""
    n_kinds = int(kinds.max()) + 1
    membership = (kinds[:, None] == np.arange(n_kinds)).astype(np.float64)
    first = [int(np.argmax(kinds == kind)) for kind in range(n_kinds)]
    return replace(seen, models=seen.models @ membership, updates=seen.updates[:, first])
