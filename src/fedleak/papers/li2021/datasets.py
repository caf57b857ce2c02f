"""The paper's tables from public files, standardised, with the targets that a regression needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.data import DataSpec, load_table


@dataclass(frozen=True, eq=False)
class PaperTable:
    values: FloatArray
    labels: FloatArray  # standardised numbers, or 0 and 1
    columns: tuple[str, ...]


SPECS = {
    "motor-temperature": DataSpec(source="motor_temperature", drop=("profile_id",), task="regression"),
    "red-wine": DataSpec(source="wine_quality_red", task="regression"),
    "residential-building": DataSpec(source="residential_building", drop=("V10",), task="regression"),
    "breast-cancer": DataSpec(source="breast_cancer_wdbc", task="binary", positive=0),
    "iris": DataSpec(source="iris", task="binary", positive=1),
    "fish": DataSpec(source="fish_market", drop=("Species",), task="regression"),
    "house": DataSpec(source="boston_housing", drop=("ZN", "CHAS", "NOX", "AGE", "RAD", "TAX", "B"), task="regression"),
}


def paper_table(name: str, *, binary: bool) -> PaperTable:
    """``binary`` labels are 0 and 1; a numeric target is cut at its median for them."""
    table = load_table(SPECS[name])
    assert table.labels is not None
    values, labels = np.asarray(table.values), np.asarray(table.labels, dtype=np.float64)
    if binary and not np.isin(labels, (0, 1)).all():
        labels = (labels > np.median(labels)).astype(np.float64)
    if not binary:
        labels = (labels - labels.mean()) / labels.std()
    return PaperTable(values, labels, table.columns)


def independent_columns(values: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Columns for the victim: drawn at random, and by pivoted QR where the table as a whole is short of rank.

    A column that the victim's others determine would make its rows span less than n dimensions.
    """
    if np.linalg.matrix_rank(values) == values.shape[1]:
        return rng.permutation(values.shape[1])[:count]
    _, _, pivots = qr(values, mode="economic", pivoting=True)
    return np.asarray(pivots[:count], dtype=np.int64)


def spanning_rows(values: FloatArray, count: int, rng: np.random.Generator) -> IntArray:
    """Rows at random, with enough of them chosen by pivoted QR to span the victim's columns where chance might not."""
    drawn = rng.permutation(len(values))
    if np.linalg.matrix_rank(values[drawn[:count]]) == min(count, values.shape[1]):
        return drawn[:count]
    _, _, pivots = qr(values.T, mode="economic", pivoting=True)
    chosen = pivots[: min(count, values.shape[1])]
    rest = drawn[~np.isin(drawn, chosen)]
    return np.concatenate([chosen, rest])[:count].astype(np.int64)
