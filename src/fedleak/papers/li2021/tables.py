"""The paper's tables from public files, standardised: which columns and rows the victim has, which cells are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.knowledge import Knowledge, KnownCells
from fedleak.data import DataSpec, load_table
from fedleak.theory.rotation_freedom import staircase

SPECS = {
    "motor-temperature": DataSpec(source="motor_temperature", drop=("profile_id",), task="regression"),
    "red-wine": DataSpec(source="wine_quality_red", task="regression"),
    "residential-building": DataSpec(source="residential_building", drop=("V10",), task="regression"),
    "breast-cancer": DataSpec(source="breast_cancer_wdbc", task="binary", positive=0),
    "iris": DataSpec(source="iris", task="binary", positive=1),
    "fish": DataSpec(source="fish_market", drop=("Species",), task="regression"),
    "house": DataSpec(source="boston_housing", drop=("ZN", "CHAS", "NOX", "AGE", "RAD", "TAX", "B"), task="regression"),
}
# What the experiments take from the victim's true rows before the attacker sees anything; told beside their figures.
STABLE_RATE = "the learning rate is a share of the largest stable step, which follows from the rows of all parties"
INDEPENDENT = "the victim's columns and rows are chosen, where chance would not do, so that they are independent"
KNOWN_CELLS = "known rows are drawn; in tables of 20 columns and more they are chosen so that they are independent"
WIDE = 20  # from so many columns on, random rows and minimal patterns are too ill-conditioned


@dataclass(frozen=True, eq=False)
class PaperTable:
    values: FloatArray
    labels: FloatArray  # standardised numbers, or 0 and 1
    columns: tuple[str, ...]


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


@dataclass(frozen=True, eq=False)
class CellPlan:
    """``order`` lists cells by flat position: those of the staircase first, then all others."""

    n_base: int
    order: IntArray

    def knowledge(self, owner: str, values: FloatArray, n_extra: int) -> Knowledge:
        chosen = np.sort(self.order[: self.n_base + n_extra])
        rows, columns = np.unravel_index(chosen, values.shape)
        cells = KnownCells(owner, rows.astype(np.int64), columns.astype(np.int64), values[rows, columns])
        return Knowledge(cells=(cells,))


def plan_cells(
    values: FloatArray, rng: np.random.Generator, *, with_weights: bool = True, extra_a_row: int = 0
) -> CellPlan:
    """Corollary 1 leaves rows and columns free, so they are drawn; but the rows must be independent.

    In a wide table of nearly collinear rows a draw is not: the rows then come from a pivoted QR.
    """
    n_rows, n_features = values.shape
    chosen: list[int] = []
    rows = rng.permutation(n_rows)
    if n_features >= WIDE:
        rows = np.asarray(qr(values.T, mode="economic", pivoting=True)[2], dtype=np.int64)
    counts = staircase(n_features, with_weights=with_weights, extra=extra_a_row)
    for row, count in zip(rows, counts, strict=False):
        columns = rng.permutation(n_features)[:count]
        chosen.extend(int(row) * n_features + int(column) for column in columns)
    rest = rng.permutation(np.setdiff1d(np.arange(n_rows * n_features), chosen))
    return CellPlan(len(chosen), np.concatenate([np.array(chosen, dtype=np.int64), rest]).astype(np.int64))
