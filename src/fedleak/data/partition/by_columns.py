"""A table cut by columns, by name or by share: every party has the same rows, one has the labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from types import MappingProxyType
from typing import Literal, Protocol, get_args

import numpy as np

from fedleak.core.errors import DataError, listed, nearest_or_list
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Party, setting
from fedleak.data.encoding import EncodedTable
from fedleak.data.partition.shares import (
    OrderName,
    apportion,
    checked_parties,
    checked_shares,
    split_holdout,
    stratification,
)
from fedleak.data.spec import check_options


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


UnassignedPolicy = Literal["error", "drop"]


@dataclass(frozen=True)
class ByColumns:
    """Each party's columns, named. A party without columns may only be the one that holds the labels."""

    columns: Mapping[str, tuple[str, ...]] = setting(MISSING, "the columns of each party, by the party's name")
    unassigned: UnassignedPolicy = setting(
        "error",
        "what a column does that no party holds: stop with an error, or be left out of the federation",
        choices=get_args(UnassignedPolicy),
    )

    def __post_init__(self) -> None:
        checked_parties(tuple(self.columns))
        frozen = MappingProxyType({party: tuple(names) for party, names in self.columns.items()})
        object.__setattr__(self, "columns", frozen)

    def assign(self, table: EncodedTable, rng: np.random.Generator) -> Mapping[str, tuple[str, ...]]:
        check_options(self)
        owner: dict[str, str] = {}
        for party, names in self.columns.items():
            for name in names:
                _check_feature(party, name, table)
                if name in owner:
                    both = f"{owner[name]!r} and {party!r}" if owner[name] != party else f"{party!r} twice"
                    raise DataError(f"a column must belong to one party; {name!r} is given to {both}")
                owner[name] = party
        if self.unassigned == "error":
            _check_all_assigned(table.source_columns, owner)
        return self.columns


def _check_feature(party: str, name: str, table: EncodedTable) -> None:
    if name in table.source_columns:
        return
    if table.label_encoding is not None and name == table.label_encoding.target:
        raise DataError(
            f"columns of party {party!r} must be features; {name!r} is the target, "
            "which belongs to the party that holds the labels"
        )
    raise DataError(
        f"columns of party {party!r} must be columns of {table.source}; got {name!r}"
        f"{nearest_or_list(name, table.source_columns)}"
    )


def _check_all_assigned(columns: Iterable[str], owner: Mapping[str, str]) -> None:
    orphans = tuple(name for name in columns if name not in owner)
    if orphans:
        raise DataError(
            f"every column must belong to a party; no party holds {listed(orphans)}. "
            'Give them to a party, or set unassigned = "drop"'
        )


@dataclass(frozen=True)
class ByRatio:
    """The table's columns, or a random permutation of them, cut into one block for each party."""

    shares: Mapping[str, float] = setting(
        MISSING, "each party's share of the columns, by the party's name; they sum to 1, and 0 means no column"
    )
    order: OrderName = setting(
        "table", "cut the columns as they stand in the table, or in random order", choices=get_args(OrderName)
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", checked_shares(self.shares))

    def assign(self, table: EncodedTable, rng: np.random.Generator) -> Mapping[str, tuple[str, ...]]:
        check_options(self)
        columns = list(table.source_columns)
        if self.order == "shuffled":
            columns = [columns[i] for i in rng.permutation(len(columns))]
        return cut_into_blocks(columns, apportion(len(columns), self.shares, "columns"))


def cut_into_blocks(columns: Sequence[str], counts: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Consecutive columns to each party in turn."""
    blocks: dict[str, tuple[str, ...]] = {}
    start = 0
    for party, count in counts.items():
        blocks[party] = tuple(columns[start : start + count])
        start += count
    return blocks
