"""The paper's six data sets, min-max scaled over the whole table as the authors do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray, freeze
from fedleak.core.errors import InputError
from fedleak.data import DataSpec, load_table
from fedleak.data.column_encoding import ColumnStep, regular_step

REAL = ("bank", "credit", "drive", "news")
SYNTHETIC = ("synthetic1", "synthetic2")
N_NEWS_CLASSES = 5

SPECS = {
    # The authors' table: bank-additional-full without the rows that hold "unknown", 30,488 x 20.
    "bank": DataSpec(
        source="bank_additional_full",
        target="y",
        positive="yes",
        missing="drop",
        missing_marks=("unknown",),
        scaling="minmax",
    ),
    "credit": DataSpec(source="credit_default", target="default", scaling="minmax"),
    "drive": DataSpec(source="sensorless_drive", target="label", task="multiclass", scaling="minmax"),
    "news": DataSpec(source="online_news", target="shares", task="regression", scaling="minmax"),
}


@dataclass(frozen=True, eq=False)
class PaperTable:
    name: str
    columns: tuple[str, ...]
    features: FloatArray
    labels: IntArray

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1


@cache
def paper_table(name: str) -> PaperTable:
    if name in SYNTHETIC:
        return _synthetic(name)
    if name not in SPECS:
        raise InputError(f"a data set of luo2021 must be one of {', '.join((*REAL, *SYNTHETIC))}; got {name!r}")
    table = load_table(SPECS[name])
    assert table.labels is not None
    labels = np.asarray(table.labels)
    if name == "news":
        # The paper does not say how it cuts shares into five classes: we cut at the quintiles.
        cuts = np.quantile(labels, np.arange(1, N_NEWS_CLASSES) / N_NEWS_CLASSES)
        labels = np.searchsorted(cuts, labels, side="right")
    return PaperTable(name, table.columns, freeze(table.values), freeze(labels.astype(np.int64)))


STEPS = "the steps in which a column moves, which the attacker is told as feature types, are those of the whole table"


@cache
def column_steps(table: PaperTable) -> dict[str, ColumnStep | None]:
    """The feature types that an attacker knows (section III): whole numbers and decimals, as steps after scaling."""
    return {name: regular_step(table.features[:, i]) for i, name in enumerate(table.columns)}


def _synthetic(name: str) -> PaperTable:
    """scikit-learn's generator at the paper's sizes; the paper does not state its other parameters."""
    from sklearn.datasets import make_classification

    n_features, n_classes = {"synthetic1": (25, 10), "synthetic2": (50, 5)}[name]
    rows, labels = make_classification(
        100_000, n_features, n_informative=n_features // 2, n_redundant=n_features // 4, n_classes=n_classes,
        random_state=0,
    )  # fmt: skip
    low, span = rows.min(axis=0), np.ptp(rows, axis=0)
    columns = tuple(f"x{i}" for i in range(n_features))
    return PaperTable(name, columns, freeze((rows - low) / span), freeze(labels.astype(np.int64)))
