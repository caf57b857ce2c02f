"""Rows cut among parties: every party has all columns, and labels for its own rows.

By share, by number, or so that each party sees the classes in other proportions: for every class the parties' shares
are then drawn from a symmetric Dirichlet distribution, as in Yurochkin et al. 2019, "Bayesian nonparametric federated
learning of neural networks", section 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass
from typing import Protocol, get_args

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import DataError
from fedleak.core.steps import Role
from fedleak.core.whole.federation import Party, setting
from fedleak.data.partition.shares import (
    OrderName,
    Rows,
    apportion,
    checked_parties,
    checked_shares,
    class_labels,
    split_holdout,
    stratification,
)
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
        return _cut_into_row_blocks(order, apportion(rows.n_rows, self.shares, "rows"))


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


def _cut_into_row_blocks(order: IntArray, counts: Mapping[str, int]) -> dict[str, IntArray]:
    stops = np.cumsum(list(counts.values()))
    blocks = np.split(order, stops[:-1])
    return {party: np.sort(block) for party, block in zip(counts, blocks, strict=True)}


N_DRAWS = 1000


@dataclass(frozen=True)
class ByLabelSkew:
    """Dirichlet label skew."""

    parties: tuple[str, ...] = setting(MISSING, "the parties' names")
    concentration: float = setting(
        0.5, "the Dirichlet parameter: 0.1 gives most of a class to one party, 100 gives nearly equal shares"
    )
    min_rows: int = setting(
        1, "the least number of rows of a party; the draw is repeated until all have it", unit="rows"
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "parties", checked_parties(self.parties))
        if not (self.concentration > 0 and math.isfinite(self.concentration)):
            raise DataError(f"concentration must be above 0 and finite; got {self.concentration}")
        if self.min_rows < 1:
            raise DataError(f"min_rows must be at least 1; got {self.min_rows}")

    def assign(self, rows: Rows, rng: np.random.Generator) -> Mapping[str, IntArray]:
        labels = class_labels(rows, "label skew")
        if self.min_rows * len(self.parties) > len(labels):
            raise DataError(
                f"min_rows must leave rows for all; got {self.min_rows} for each of {len(self.parties)} parties "
                f"and {len(labels)} rows"
            )
        for _ in range(N_DRAWS):
            owner = self._drawn_owners(labels, rng)
            if np.bincount(owner, minlength=len(self.parties)).min() >= self.min_rows:
                return {party: np.flatnonzero(owner == i) for i, party in enumerate(self.parties)}
        raise DataError(
            f"concentration must let every party have {self.min_rows} rows; {N_DRAWS} draws with "
            f"{self.concentration:g} did not. Raise it, or lower min_rows or the number of parties"
        )

    def _drawn_owners(self, labels: AnyArray, rng: np.random.Generator) -> IntArray:
        """The party of each row, as its position among the parties."""
        owner = np.zeros(len(labels), dtype=np.int64)
        for label in np.unique(labels):
            members = rng.permutation(np.flatnonzero(labels == label))
            shares = rng.dirichlet(np.full(len(self.parties), self.concentration))
            stops = np.rint(np.cumsum(shares)[:-1] * len(members)).astype(np.int64)
            for party, block in enumerate(np.split(members, stops)):
                owner[block] = party
        return owner
