"""Columns to parties by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from fedleak.core.errors import DataError
from fedleak.core.hints import listed, nearest_or_list
from fedleak.core.settings import setting
from fedleak.data.encoding import EncodedTable
from fedleak.data.partition.shares import checked_parties
from fedleak.data.spec import check_options

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
                _check_known(party, name, table)
                if name in owner:
                    both = f"{owner[name]!r} and {party!r}" if owner[name] != party else f"{party!r} twice"
                    raise DataError(f"a column must belong to one party; {name!r} is given to {both}")
                owner[name] = party
        if self.unassigned == "error":
            _check_complete(table.source_columns, owner)
        return self.columns


def _check_known(party: str, name: str, table: EncodedTable) -> None:
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


def _check_complete(columns: Iterable[str], owner: Mapping[str, str]) -> None:
    orphans = tuple(name for name in columns if name not in owner)
    if orphans:
        raise DataError(
            f"every column must belong to a party; no party holds {listed(orphans)}. "
            'Give them to a party, or set unassigned = "drop"'
        )
