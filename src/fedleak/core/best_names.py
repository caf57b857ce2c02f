"""Classes that were found without their names: the names under which most rows are right."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import IntArray

NAMELESS = -1


def best_names(parts: IntArray, classes: IntArray) -> tuple[IntArray, int]:
    """For each part, counted from 0 on, the class that names it, all different; and how many rows are right then. A
    part beyond as many as there are classes is nameless. Rows whose part is below 0 are in none."""
    from scipy.optimize import linear_sum_assignment

    told = parts >= 0
    table = np.zeros((int(parts.max(initial=-1)) + 1, int(classes.max(initial=-1)) + 1), dtype=np.int64)
    np.add.at(table, (parts[told], classes[told]), 1)
    named, chosen = linear_sum_assignment(-table)
    names = np.full(len(table), NAMELESS, dtype=np.int64)
    names[named] = chosen
    return names, int(table[named, chosen].sum())
