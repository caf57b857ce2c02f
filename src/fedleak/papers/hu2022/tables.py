"""Small federations on real tables: which columns go to whom, from a table and a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from fedleak.core.federation import Federation, Party, Slice
from fedleak.core.settings import Settings
from fedleak.core.steps import Role
from fedleak.data import DataSpec, EncodedTable, load_table


@lru_cache(maxsize=8)
def table_of(source: str, scaling: str, drop: tuple[str, ...] = ()) -> EncodedTable:
    spec = DataSpec(source=source, scaling=scaling, drop=drop, **_LABELS.get(source, {}))  # type: ignore[arg-type]
    return load_table(spec)


_LABELS: Mapping[str, Mapping[str, object]] = {"vehicle_scale": {"task": "multiclass"}}


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
