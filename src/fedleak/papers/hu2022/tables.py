"""The data of Hu et al. 2022, dealt out to the parties: all of section 7's rows by halves, or few rows by a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Federation, Party, Settings, Slice
from fedleak.data import DataSpec, EncodedTable, load_images, load_table

N_CREDIT_TEST = 3000
ACTIVE, PASSIVE = "active", "passive"
_LABELS: Mapping[str, Mapping[str, object]] = {"vehicle_scale": {"task": "multiclass"}}


@dataclass(frozen=True, eq=False)
class Rows:
    """Training and test rows; ``max_row_norm`` is what the scaling guarantees, None for rows as they are."""

    name: str
    train: FloatArray
    train_labels: IntArray
    test: FloatArray
    test_labels: IntArray
    max_row_norm: float | None

    def first(self, n_train: int) -> Rows:
        """Evenly spread training rows, all test rows."""
        chosen = np.linspace(0, len(self.train) - 1, n_train).astype(np.int64)
        return Rows(
            self.name, self.train[chosen], self.train_labels[chosen], self.test, self.test_labels, self.max_row_norm
        )


def load(name: str, *, unit_norm: bool) -> Rows:
    """``unit_norm`` divides all rows by one constant so that the longest has norm 1, as the paper's analysis asks.

    Otherwise MNIST has pixels from 0 to 1 and credit is standardised: the paper says the latter, and leaves the
    scale of pixels open.
    """
    rows = _mnist() if name == "mnist" else _credit()
    if not unit_norm:
        return rows
    longest = max(float(np.linalg.norm(part, axis=1).max()) for part in (rows.train, rows.test))
    return Rows(name, rows.train / longest, rows.train_labels, rows.test / longest, rows.test_labels, 1.0)


def _mnist() -> Rows:
    parts = []
    for part in ("train", "test"):
        images = load_images("mnist", part=part)
        assert images.labels is not None
        wanted = np.flatnonzero(images.labels <= 1)
        pixels = images.pixels[wanted].reshape(len(wanted), -1).astype(np.float64) / images.peak
        parts.append((pixels, images.labels[wanted]))
    (train, train_labels), (test, test_labels) = parts
    return Rows("mnist", train, train_labels, test, test_labels, None)


def _credit() -> Rows:
    """27000 and 3000 rows, by a permutation that is fixed for all seeds."""
    table = load_table(DataSpec(source="credit_default", scaling="standard"))
    assert table.labels is not None
    order = np.random.default_rng(2022).permutation(len(table.values))
    test, train = order[:N_CREDIT_TEST], order[N_CREDIT_TEST:]
    labels = table.labels.astype(np.int64)
    return Rows("credit", table.values[train], labels[train], table.values[test], labels[test], None)


def federation(rows: Rows, settings: Settings) -> Federation:
    """First half of the columns and the labels to the active party, second half to the passive one."""
    half = rows.train.shape[1] // 2
    names = tuple(f"x{i}" for i in range(rows.train.shape[1]))
    ids, test_ids = np.arange(len(rows.train)), np.arange(len(rows.train), len(rows.train) + len(rows.test))
    active = Party(
        ACTIVE,
        Role.ACTIVE,
        names[:half],
        Slice(ids, rows.train[:, :half], rows.train_labels),
        Slice(test_ids, rows.test[:, :half], rows.test_labels),
    )
    passive = Party(
        PASSIVE, Role.PASSIVE, names[half:], Slice(ids, rows.train[:, half:]), Slice(test_ids, rows.test[:, half:])
    )
    return Federation("vertical-logistic", (active, passive), settings, rows.max_row_norm)


@lru_cache(maxsize=8)
def table_of(source: str, scaling: str, drop: tuple[str, ...] = ()) -> EncodedTable:
    spec = DataSpec(source=source, scaling=scaling, drop=drop, **_LABELS.get(source, {}))  # type: ignore[arg-type]
    return load_table(spec)


def deal(
    table: EncodedTable, columns: Mapping[str, Sequence[int]], settings: Settings, *, n_rows: int, seed: int
) -> Federation:
    """Rows drawn by the seed; the party "active" has the labels (the upper half of them, where there are several)."""
    chosen = np.sort(np.random.default_rng([2022, seed]).choice(len(table.values), n_rows, replace=False))
    assert table.labels is not None
    labels = table.labels[chosen]
    binary = (labels > np.median(table.labels)).astype(np.int64) if len(np.unique(table.labels)) > 2 else labels
    parties = []
    for name, picks in columns.items():
        own = np.asarray(list(picks), dtype=np.int64)
        part = Slice(chosen, table.values[np.ix_(chosen, own)], binary.astype(np.int64) if name == "active" else None)
        role = Role.ACTIVE if name == "active" else Role.PASSIVE
        parties.append(Party(name, role, tuple(table.columns[int(i)] for i in own), part))
    rows = table.values[np.ix_(chosen, np.concatenate([np.asarray(list(p), dtype=np.int64) for p in columns.values()]))]
    bound = float(np.linalg.norm(rows, axis=1).max(initial=0.0))
    return Federation("vertical-logistic", tuple(parties), settings, max_row_norm=max(1.0, bound))
