"""Rows for training and rows held out."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import DataError
from fedleak.data.partition.shares import apportion


def split_holdout(
    rows: IntArray, test_share: float, *, rng: np.random.Generator, classes: AnyArray | None = None
) -> tuple[IntArray, IntArray]:
    """Training and test rows, each in the given order. With ``classes`` (one a row) both parts keep their mix."""
    if not 0 <= test_share < 1:
        raise DataError(f"test_share must be at least 0 and below 1; got {test_share}")
    if test_share == 0:
        return rows, rows[:0]
    if len(rows) < 2:
        raise DataError(f"test_share must be 0 when there is a single row to split; got {test_share}")
    n_test = apportion(len(rows), {"test": test_share, "train": 1 - test_share}, "rows")["test"]
    in_test = np.zeros(len(rows), dtype=bool)
    if classes is None:
        in_test[rng.permutation(len(rows))[:n_test]] = True
    else:
        for positions, n_of_class in _class_quotas(classes, n_test):
            in_test[rng.permutation(positions)[:n_of_class]] = True
    return rows[~in_test], rows[in_test]


def _class_quotas(classes: AnyArray, n_test: int) -> list[tuple[IntArray, int]]:
    """The positions of each class and how many of them are held out: largest remainders, at most what there is."""
    values, counts = np.unique(classes, return_counts=True)
    exact = counts * (n_test / len(classes))
    quotas = np.floor(exact).astype(np.int64)
    by_remainder = np.argsort(quotas - exact, kind="stable")
    quotas[by_remainder[: n_test - int(quotas.sum())]] += 1
    return [(np.flatnonzero(classes == value), int(quota)) for value, quota in zip(values, quotas, strict=True)]
