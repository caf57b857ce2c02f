"""Columns to parties by how they correlate: like with like, or like apart from like.

How much a partner's columns tell about the victim's own decides what inference is possible at all, so a federation
is worth examining at both ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass
from typing import Literal, get_args

import numpy as np

from fedleak.core.arrays import FloatArray
from fedleak.core.whole.federation import setting
from fedleak.data.encoding import EncodedTable
from fedleak.data.partition.by_columns import cut_into_blocks
from fedleak.data.partition.shares import apportion, checked_shares
from fedleak.data.spec import check_options

CorrelatedName = Literal["together", "apart"]


@dataclass(frozen=True)
class ByCorrelation:
    """Columns ordered by hierarchical clustering of their absolute correlation, then dealt out by share. The shares
    are kept, so that the edge of a block may cut through a cluster."""

    shares: Mapping[str, float] = setting(
        MISSING, "each party's share of the columns, by the party's name; they sum to 1, and 0 means no column"
    )
    correlated: CorrelatedName = setting(
        "together",
        "whether columns that correlate go to one party, or are spread over the parties",
        choices=get_args(CorrelatedName),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "shares", checked_shares(self.shares))

    def assign(self, table: EncodedTable, rng: np.random.Generator) -> Mapping[str, tuple[str, ...]]:
        check_options(self)
        columns = _by_similarity(table)
        counts = apportion(len(columns), self.shares, "columns")
        return cut_into_blocks(columns, counts) if self.correlated == "together" else _deal_out(columns, counts)


def absolute_correlation(table: EncodedTable) -> FloatArray:
    """|Pearson correlation| between raw columns: the largest over their encoded columns; 0 for a constant column."""
    centred = np.nan_to_num(table.values - np.nanmean(table.values, axis=0))  # a missing cell as the mean
    centred[:, [encoding.is_constant for encoding in table.encoding]] = 0.0
    lengths = np.linalg.norm(centred, axis=0)
    unit = centred / np.where(lengths > 0, lengths, 1.0)
    encoded = np.abs(unit.T @ unit)
    starts = [table.positions_of((name,))[0] for name in table.source_columns]  # encoded columns stand in raw order
    by_row = np.maximum.reduceat(encoded, starts, axis=0)
    between: FloatArray = np.clip(np.maximum.reduceat(by_row, starts, axis=1), 0.0, 1.0)
    return between


def _by_similarity(table: EncodedTable) -> list[str]:
    """The raw columns in the leaf order of average-linkage clustering: neighbours correlate."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    columns = table.source_columns
    if len(columns) < 2:
        return list(columns)
    distance = 1.0 - absolute_correlation(table)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method="average")
    return [columns[i] for i in leaves_list(tree)]


def _deal_out(columns: Sequence[str], counts: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Each column in turn to the party that is furthest behind its share, so that neighbours part."""
    dealt: dict[str, list[str]] = {party: [] for party in counts}
    for turn, column in enumerate(columns, start=1):
        behind = {
            party: turn * count / len(columns) - len(dealt[party])
            for party, count in counts.items()
            if len(dealt[party]) < count
        }
        dealt[max(behind, key=lambda party: behind[party])].append(column)
    return {party: tuple(names) for party, names in dealt.items()}
