"""The order in which rows are visited."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.errors import InputError


def batches(n_rows: int, batch_size: int, epochs: int, shuffle: bool, rng: np.random.Generator) -> Iterator[IntArray]:
    """Row positions of each mini-batch; every epoch visits every row once.

    Without ``shuffle`` the first epoch's batches recur. The last batch of an epoch may be smaller.
    """
    if batch_size > n_rows:
        raise InputError(f"batch_size must be at most the {n_rows} training rows; got {batch_size}")
    order = rng.permutation(n_rows)
    for _ in range(epochs):
        for start in range(0, n_rows, batch_size):
            yield order[start : start + batch_size]
        if shuffle:
            order = rng.permutation(n_rows)
