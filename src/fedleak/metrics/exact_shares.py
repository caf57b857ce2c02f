"""Intervals and chances that hold for any number of rows: shares by Clopper and Pearson, counts by shuffling labels."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.metrics.tails import fewest_shuffles, normal_tail, tail

TAIL = 0.025  # at either end of a 95 % interval
N_TABLES = 1000
MAX_GROUPS = 200  # of a table that is drawn; with more the formulas hold, whose failing is with few rows and many ties


def share_interval(hits: float, n: float) -> tuple[float, float]:
    """Clopper and Pearson 1934: 12 of 12 is 73.5 % to 100 %. Means of several answers give hits that are no whole
    numbers; the beta quantiles lie between those of the whole ones."""
    from scipy.special import betaincinv

    low = float(betaincinv(hits, n - hits + 1, TAIL)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - TAIL)) if hits < n else 1.0
    return low, high


def chance_of(table: IntArray, weights: FloatArray, rng: np.random.Generator) -> float:
    """In what share of shuffles labels reach the weighted sum of a table (classes by groups of rows).

    The test is exact for any number of rows and any ties: tables with the same margins are drawn, and the one at hand
    counts as one of them. Of many groups, a normal one: formulas fail with few rows and many ties.
    """
    kept = table.sum(axis=0) > 0
    found, weighted = table[:, kept], weights[:, kept]
    value = float((found * weighted).sum())
    if kept.sum() > MAX_GROUPS:
        return normal_tail(value, *_moments(found, weighted))
    drawn = _sums_of_tables(found, weighted, rng)
    return tail(value - 1e-9 * float(np.abs(weighted).max()), drawn, fewest_shuffles(found.sum(axis=1)))


def _moments(table: IntArray, weights: FloatArray) -> tuple[float, float]:
    """Mean and deviation of the weighted sum over all shuffles (of rows that are worth what their group is)."""
    sizes, groups = table.sum(axis=1), table.sum(axis=0)
    n = int(groups.sum())
    mean_worth = weights @ groups / n
    mean = float(sizes @ mean_worth)
    centred = weights - mean_worth[:, None]
    together = (centred * groups) @ centred.T / max(n - 1, 1)
    shares = sizes / n
    variance = n * float(shares @ np.diag(together) - shares @ together @ shares)
    return mean, max(variance, 0.0) ** 0.5


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
