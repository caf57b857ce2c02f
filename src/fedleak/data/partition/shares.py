"""Whole numbers of columns or rows from shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from fedleak.core.errors import DataError


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
