"""Label counts of an update, where predictions move while a client trains: guessed, and told right by the residual.

What the last bias says is near the counts, and not always nearest to them. A search that starts at wrong counts comes
less near to the update the more of them are wrong, so that counts one row away from the best so far are tried next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray

MOST_GUESSES = 12
COMES_NEAR = 0.3  # squared residual for an equation, in hundredths of the update's size


def label_guesses(estimate: FloatArray, total: int, misfit: Callable[[IntArray], float]) -> Iterator[IntArray]:
    """Labels in the order of the classes, where ``misfit``, of one search from there, is small."""
    classes = np.arange(len(estimate))
    tried: dict[tuple[int, ...], float] = {}
    while len(tried) < MOST_GUESSES:
        around = nearest_counts(estimate, total) if not tried else np.array(min(tried, key=lambda one: tried[one]))
        left = [one for one in (around, *neighbours(around, estimate)) if tuple(one.tolist()) not in tried]
        if not left:
            return
        counts = left[0]
        found = tried[tuple(counts.tolist())] = misfit(np.repeat(classes, counts))
        if found <= COMES_NEAR:
            yield np.repeat(classes, counts)


def nearest_counts(estimate: FloatArray, total: int) -> IntArray:
    """Whole numbers that add up to so many."""
    counts = np.maximum(np.floor(estimate), 0).astype(np.int64)
    while counts.sum() < total:
        counts[np.argmax(estimate - counts)] += 1
    while counts.sum() > total:
        counts[np.argmin(np.where(counts > 0, estimate - counts, np.inf))] -= 1
    return counts


def neighbours(counts: IntArray, estimate: FloatArray) -> list[IntArray]:
    """One row away, those that the estimate is nearest to first."""
    moves = np.eye(len(counts), dtype=np.int64)
    ways = [(up, down) for up in range(len(counts)) for down in range(len(counts)) if up != down and counts[down]]
    found = [counts + moves[up] - moves[down] for up, down in ways]
    return sorted(found, key=lambda one: float(((one - estimate) ** 2).sum()))
