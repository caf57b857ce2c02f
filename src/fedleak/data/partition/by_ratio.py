"""Columns to parties by share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Literal, get_args

import numpy as np

from fedleak.core.settings import setting
from fedleak.data.encoding import EncodedTable
from fedleak.data.partition.shares import apportion, checked_shares
from fedleak.data.spec import check_options

OrderName = Literal["table", "shuffled"]


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
