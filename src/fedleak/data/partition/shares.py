"""What every partition needs: whole numbers of columns or rows from shares, and rows held out, by class if asked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, Protocol

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import DataError
from fedleak.core.whole.federation import Slice

OrderName = Literal["table", "shuffled"]
MAX_STRATA = 1000


def checked_shares(shares: Mapping[str, float]) -> Mapping[str, float]:
    """Shares that are not negative and sum to 1, read-only."""
    if not shares:
        raise DataError("shares must name at least one party; got none")
    for party, share in shares.items():
        if not 0 <= share <= 1:  # also catches NaN
            raise DataError(f"the share of party {party!r} must be from 0 to 1; got {share}")
    total = math.fsum(shares.values())
    if abs(total - 1) > 1e-6:
        raise DataError(f"shares must sum to 1; got {total:g} ({_listed(shares)})")
    return MappingProxyType({party: float(share) for party, share in shares.items()})


def apportion(n_items: int, shares: Mapping[str, float], what: str) -> dict[str, int]:
    """How many items each party gets: largest remainders, and at least one for every share above 0."""
    holders = [party for party, share in shares.items() if share > 0]
    if len(holders) > n_items:
        raise DataError(f"{len(holders)} parties with a share must have {what} for each; got {n_items} {what}")
    exact = {party: shares[party] * n_items for party in shares}
    counts = {party: int(exact[party]) for party in shares}
    by_remainder = sorted(holders, key=lambda party: counts[party] - exact[party])
    # Rounding errors in the shares may leave more items over than there are holders, hence the cycle.
    for turn in range(n_items - sum(counts.values())):
        counts[by_remainder[turn % len(by_remainder)]] += 1
    for party in holders:
        if counts[party] == 0:
            richest = max(holders, key=lambda name: counts[name])
            counts[richest] -= 1
            counts[party] = 1
    return counts


def checked_parties(parties: tuple[str, ...]) -> tuple[str, ...]:
    if not parties:
        raise DataError("parties must name at least one party; got none")
    if len(set(parties)) != len(parties):
        raise DataError(f"party names must differ; got {', '.join(parties)}")
    return tuple(parties)


def _listed(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{party} {share:g}" for party, share in shares.items())


class Rows(Protocol):
    """Rows of any shape with ids and perhaps labels: tables and image sets."""

    @property
    def labels(self) -> AnyArray | None: ...

    @property
    def n_rows(self) -> int: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    def rows(self, rows: IntArray, *, with_labels: bool = True) -> Slice: ...


def class_labels(rows: Rows, purpose: str) -> AnyArray:
    """The labels, if they are classes."""
    if rows.labels is None:
        raise DataError(f"{purpose} must have labels to go by; the data has none")
    if rows.labels.dtype.kind not in "iu" or len(np.unique(rows.labels)) > MAX_STRATA:
        raise DataError(f"{purpose} must have classes to go by; the labels are numbers. Use it without a regression")
    return rows.labels


def stratification(rows: Rows, stratified: bool) -> AnyArray | None:
    return class_labels(rows, "a stratified split") if stratified else None


def split_holdout(
    rows: IntArray, test_share: float, *, rng: np.random.Generator, classes: AnyArray | None = None
) -> tuple[IntArray, IntArray]:
    """Training and test rows, each in the given order. With ``classes`` (one a row) both parts keep their mix."""
    if not 0 <= test_share < 1:
        raise DataError(f"test_share must be at least 0 and below 1; got {test_share}")
    if test_share == 0:
        return rows, rows[:0]
    if len(rows) < 2:
        raise DataError(f"test_share must be 0 when there is a single row to split; got {test_share}")
    n_test = apportion(len(rows), {"test": test_share, "train": 1 - test_share}, "rows")["test"]
    in_test = np.zeros(len(rows), dtype=bool)
    if classes is None:
        in_test[rng.permutation(len(rows))[:n_test]] = True
    else:
        for positions, n_of_class in _class_quotas(classes, n_test):
            in_test[rng.permutation(positions)[:n_of_class]] = True
    return rows[~in_test], rows[in_test]


def _class_quotas(classes: AnyArray, n_test: int) -> list[tuple[IntArray, int]]:
    """The positions of each class and how many of them are held out: largest remainders, at most what there is."""
    values, counts = np.unique(classes, return_counts=True)
    exact = counts * (n_test / len(classes))
    quotas = np.floor(exact).astype(np.int64)
    by_remainder = np.argsort(quotas - exact, kind="stable")
    quotas[by_remainder[: n_test - int(quotas.sum())]] += 1
    return [(np.flatnonzero(classes == value), int(quota)) for value, quota in zip(values, quotas, strict=True)]
