"""Intervals and chances that hold for any number of rows: shares by Clopper and Pearson, counts by shuffling labels."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.metrics.tails import fewest_shuffles, normal_tail, tail

TAIL = 0.025  # at either end of a 95 % interval
N_TABLES = 1000
FEW_ROWS = 10  # of a class: sums over so few are not normal
MAX_GROUPS = 200  # of a table that is drawn; with more the formulas hold, whose failing is with few rows and many ties


def share_interval(hits: float, n: float, tail: float = TAIL) -> tuple[float, float]:
    """Clopper and Pearson 1934: 12 of 12 is 73.5 % to 100 %. Means of several answers give hits that are no whole
    numbers; the beta quantiles lie between those of the whole ones."""
    from scipy.special import betaincinv

    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high


def chance_of(table: IntArray, weights: FloatArray, rng: np.random.Generator) -> float:
    """In what share of shuffles labels reach the weighted sum of a table (classes by groups of rows).

    The test is exact for any number of rows and any ties: tables with the same margins are drawn, and the one at hand
    counts as one of them. Of many groups, a normal one, where no class is small: formulas fail with few rows.
    """
    kept = table.sum(axis=0) > 0
    found, weighted = table[:, kept], weights[:, kept]
    value = float((found * weighted).sum())
    few = len(found) == 2 and int(found.sum(axis=1).min()) <= FEW_ROWS
    if kept.sum() > MAX_GROUPS and not few:
        return normal_tail(value, *_moments(found, weighted))
    drawn = (_sums_of_few if kept.sum() > MAX_GROUPS else _sums_of_tables)(found, weighted, rng)
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


def _sums_of_few(table: IntArray, weights: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The same of two classes of which one has few rows: these are drawn, row by row."""
    sizes, groups = table.sum(axis=1), table.sum(axis=0)
    small = int(np.argmin(sizes))
    place = np.repeat(np.arange(len(groups)), groups)
    drawn = rng.integers(0, len(place), (N_TABLES, int(sizes[small])))
    while (twice := (np.diff(np.sort(drawn, axis=1), axis=1) == 0).any(axis=1)).any():
        drawn[twice] = rng.integers(0, len(place), (int(twice.sum()), drawn.shape[1]))
    gained = (weights[small] - weights[1 - small])[place[drawn]].sum(axis=1)
    return np.asarray(gained + float(weights[1 - small] @ groups))


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
