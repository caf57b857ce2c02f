"""Intervals and chances that hold for any number of rows: shares by Clopper and Pearson, counts by shuffling labels."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray

TAIL = 0.025  # at either end of a 95 % interval
N_TABLES = 1000
MAX_GROUPS = 200  # of a table that is drawn; with more the formulas hold, whose failing is with few rows and many ties


def share_interval(hits: float, n: float, tail: float = TAIL) -> tuple[float, float]:
    """Clopper and Pearson 1934: 12 of 12 is 73.5 % to 100 %. Means of several answers give hits that are no whole
    numbers; the beta quantiles lie between those of the whole ones."""
    from scipy.special import betaincinv

    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high


def no_chance(table: IntArray, weights: FloatArray, rng: np.random.Generator) -> bool:
    """Whether shuffled labels reach the weighted sum of a table (classes by groups of rows) in at most 2.5 %.

    The test is exact for any number of rows and any ties: tables with the same margins are drawn, and the one at hand
    counts as one of them.
    """
    kept = table.sum(axis=0) > 0
    if kept.sum() > MAX_GROUPS:
        return True
    found, weighted = table[:, kept], weights[:, kept]
    drawn = _sums_of_tables(found, weighted, rng)
    reached = drawn >= (found * weighted).sum() - 1e-9 * np.abs(weighted).max()
    return bool((1 + reached.sum()) / (1 + N_TABLES) <= TAIL)


def _sums_of_tables(table: IntArray, weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Weighted sums of tables with these margins: cell by cell, each hypergeometric in what the others left over."""
    sums, left = np.zeros(N_TABLES), np.tile(table.sum(axis=0), (N_TABLES, 1))
    for size, weighted in zip(table.sum(axis=1)[:-1].tolist(), weights, strict=False):
        missing, behind = np.full(N_TABLES, size), left.sum(axis=1)
        for group, weight in enumerate(weighted.tolist()):
            behind -= left[:, group]
            taken = rng.hypergeometric(left[:, group], behind, missing)
            sums += weight * taken
            missing -= taken
            left[:, group] -= taken
    return np.asarray(sums + left @ weights[-1])
