"""All ways to reach two sums with so many pieces of each kind, by meeting in the middle (Horowitz and Sahni 1974).

Every way is enumerated, or none: what all of them share is proved. Pieces have a weight h of 0 or more, so that a
half that exceeds its sum is left at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.boosting.histogram_system import InconsistentSumsError
from fedleak.core.arrays import IntArray

MIXER = np.int64(-7046029254386353131)  # odd: one number of 64 bits that stands for a pair of sums


@dataclass(frozen=True, eq=False)
class CountRanges:
    """The least and the most pieces of each kind, over all ways."""

    least: IntArray
    most: IntArray


@dataclass(frozen=True, eq=False)
class _Half:
    g: IntArray
    h: IntArray
    counts: IntArray  # (ways, kinds)


def count_ranges(
    g: IntArray, h: IntArray, limits: IntArray, target: tuple[int, int], budget: int
) -> CountRanges | None:
    """``limits`` is how many pieces of a kind there are; None where a half has more ways than the budget."""
    order = np.argsort(-h, kind="stable")
    sides = (order[::2], order[1::2])  # heavy and light pieces on both sides
    halves = []
    for side in sides:
        half = _half(g[side], h[side], limits[side], target[1], budget)
        if half is None:
            return None
        halves.append(half)
    return _meeting(halves[0], halves[1], sides, target, budget)


def _half(g: IntArray, h: IntArray, limits: IntArray, most: int, budget: int) -> _Half | None:
    found = _Half(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, len(g)), np.int64))
    for kind in range(len(g)):
        parts, n_ways, last = [found], len(found.g), found
        for _ in range(int(limits[kind])):
            kept = last.h + h[kind] <= most
            if not kept.any():
                break
            counts = last.counts[kept]
            counts[:, kind] += 1
            last = _Half(last.g[kept] + g[kind], last.h[kept] + h[kind], counts)
            n_ways += len(last.g)
            if n_ways > budget:
                return None
            parts.append(last)
        found = _Half(
            np.concatenate([part.g for part in parts]),
            np.concatenate([part.h for part in parts]),
            np.concatenate([part.counts for part in parts]),
        )
    return found


def _meeting(
    one: _Half, other: _Half, sides: tuple[IntArray, IntArray], target: tuple[int, int], budget: int
) -> CountRanges | None:
    with np.errstate(over="ignore"):
        keys = one.g + one.h * MIXER
        wanted = (target[0] - other.g) + (target[1] - other.h) * MIXER
    order = np.argsort(keys, kind="stable")
    low, high = (np.searchsorted(keys[order], wanted, side) for side in ("left", "right"))
    n_pairs = int((high - low).sum())
    if n_pairs > budget:
        return None
    right = np.repeat(np.arange(len(wanted)), high - low)
    left = order[_runs(low, high)]
    exact = (one.g[left] + other.g[right] == target[0]) & (one.h[left] + other.h[right] == target[1])
    if not exact.any():
        raise InconsistentSumsError
    counts = np.empty((int(exact.sum()), len(sides[0]) + len(sides[1])), dtype=np.int64)
    counts[:, sides[0]], counts[:, sides[1]] = one.counts[left[exact]], other.counts[right[exact]]
    return CountRanges(counts.min(axis=0), counts.max(axis=0))


def _runs(low: IntArray, high: IntArray) -> IntArray:
    """low..high-1 of each pair, one after the other."""
    lengths = high - low
    starts = np.cumsum(lengths) - lengths
    return np.asarray(np.arange(int(lengths.sum())) - np.repeat(starts - low, lengths))
