"""Rows cut among parties: every party has all columns, and labels for its own rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import Protocol, get_args

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.errors import DataError
from fedleak.core.federation import Party
from fedleak.core.settings import setting
from fedleak.core.steps import Role
from fedleak.data.partition.by_ratio import OrderName
from fedleak.data.partition.holdout import split_holdout
from fedleak.data.partition.rows import Rows, stratification
from fedleak.data.partition.shares import apportion, checked_parties, checked_shares
from fedleak.data.spec import check_options


class HorizontalPartition(Protocol):
    """Which party holds which rows, by position."""

    def assign(self, rows: Rows, rng: np.random.Generator) -> Mapping[str, IntArray]: ...


@dataclass(frozen=True)
class ByRowRatio:
    """The rows, or a random permutation of them, cut into one block for each party."""

    shares: Mapping[str, float] = setting(
        MISSING, "each party's share of the rows, by the party's name; they are above 0 and sum to 1"
    )
    order: OrderName = setting(
        "shuffled", "cut the rows as they stand in the table, or in random order", choices=get_args(OrderName)
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", checked_shares(self.shares))

    def assign(self, rows: Rows, rng: np.random.Generator) -> Mapping[str, IntArray]:
        check_options(self)
        order = rng.permutation(rows.n_rows) if self.order == "shuffled" else np.arange(rows.n_rows)
        return _cut(order, apportion(rows.n_rows, self.shares, "rows"))


@dataclass(frozen=True)
class ByRowCount:
    """The same number of rows for every party, give or take one."""

    parties: tuple[str, ...] = setting(MISSING, "the parties' names")
    order: OrderName = setting(
        "shuffled", "cut the rows as they stand in the table, or in random order", choices=get_args(OrderName)
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "parties", checked_parties(self.parties))

    def assign(self, rows: Rows, rng: np.random.Generator) -> Mapping[str, IntArray]:
        equal = {party: 1 / len(self.parties) for party in self.parties}
        return ByRowRatio(equal, self.order).assign(rows, rng)


def split_horizontal(
    rows: Rows,
    partition: HorizontalPartition,
    *,
    test_share: float = 0.0,
    stratified: bool = False,
    rng: np.random.Generator,
) -> tuple[Party, ...]:
    """The parties in the partition's order. Each holds out ``test_share`` of its own rows; rows keep their order.

    A party with labels for its rows is active, also when all of them are.
    """
    assigned = partition.assign(rows, rng)
    classes = stratification(rows, stratified)
    role = Role.PASSIVE if rows.labels is None else Role.ACTIVE
    parties = []
    for party, positions in assigned.items():
        if not len(positions):
            raise DataError(f"party {party!r} must hold at least one row; got none")
        strata = None if classes is None else classes[positions]
        train, test = split_holdout(positions, test_share, rng=rng, classes=strata)
        parties.append(Party(party, role, rows.columns, rows.rows(train), rows.rows(test) if len(test) else None))
    return tuple(parties)


def _cut(order: IntArray, counts: Mapping[str, int]) -> dict[str, IntArray]:
    stops = np.cumsum(list(counts.values()))
    blocks = np.split(order, stops[:-1])
    return {party: np.sort(block) for party, block in zip(counts, blocks, strict=True)}
