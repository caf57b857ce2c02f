"""What a partition by rows needs to know of a table or an image set."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import DataError
from fedleak.core.federation import Slice

MAX_STRATA = 1000


class Rows(Protocol):
    """Rows of any shape with ids and perhaps labels: tables and image sets."""

    @property
    def labels(self) -> AnyArray | None: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def rows(self, rows: IntArray, *, with_labels: bool = True) -> Slice: ...


def class_labels(rows: Rows, purpose: str) -> AnyArray:
    """The labels, if they are classes."""
    if rows.labels is None:
        raise DataError(f"{purpose} must have labels to go by; the data has none")
    if rows.labels.dtype.kind not in "iu" or len(np.unique(rows.labels)) > MAX_STRATA:
        raise DataError(f"{purpose} must have classes to go by; the labels are numbers. Use it without a regression")
    return rows.labels


def stratification(rows: Rows, stratified: bool) -> AnyArray | None:
    return class_labels(rows, "a stratified split") if stratified else None
