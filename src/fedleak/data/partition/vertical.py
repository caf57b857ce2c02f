"""A table cut by columns: every party has the same rows, one has the labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from fedleak.core.errors import DataError
from fedleak.core.federation import Party
from fedleak.core.hints import nearest_or_list
from fedleak.core.steps import Role
from fedleak.data.encoding import EncodedTable
from fedleak.data.partition.holdout import split_holdout
from fedleak.data.partition.rows import stratification


class VerticalPartition(Protocol):
    """Which party holds which raw columns. A raw column never spans two parties, however it is encoded."""

    def assign(self, table: EncodedTable, rng: np.random.Generator) -> Mapping[str, tuple[str, ...]]: ...


def split_vertical(
    table: EncodedTable,
    partition: VerticalPartition,
    *,
    labels_at: str | None,
    test_share: float = 0.0,
    stratified: bool = False,
    rng: np.random.Generator,
) -> tuple[Party, ...]:
    """The parties in the partition's order, with aligned rows; ``labels_at`` is active, all others are passive."""
    columns = partition.assign(table, rng)
    check_labels_at(tuple(columns), labels_at, has_labels=table.labels is not None)
    for party, names in columns.items():
        if not names and party != labels_at:
            raise DataError(f"party {party!r} must hold at least one column, or the labels; got neither")
    train, test = split_holdout(np.arange(table.n_rows), test_share, rng=rng, classes=stratification(table, stratified))
    parties = []
    for party, names in columns.items():
        positions = table.positions_of(names)
        is_active = party == labels_at
        parties.append(
            Party(
                name=party,
                role=Role.ACTIVE if is_active else Role.PASSIVE,
                columns=tuple(table.columns[i] for i in positions),
                train=table.rows(train, columns=positions, with_labels=is_active),
                test=table.rows(test, columns=positions, with_labels=is_active) if len(test) else None,
            )
        )
    return tuple(parties)


def check_labels_at(parties: tuple[str, ...], labels_at: str | None, *, has_labels: bool) -> None:
    """Labels need a holder among the parties, and a holder needs labels."""
    if labels_at is None and has_labels:
        raise DataError(f"labels_at must name the party that holds the labels, one of {', '.join(parties)}; got none")
    if labels_at is not None and not has_labels:
        raise DataError(f"labels_at must be left out for data without labels; got {labels_at!r}")
    if labels_at is not None and labels_at not in parties:
        raise DataError(f"labels_at must be a party; got {labels_at!r}{nearest_or_list(labels_at, parties)}")
