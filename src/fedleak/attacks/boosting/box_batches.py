"""Records that ask about many nodes of many trees at once.

The first batch is a Latin hypercube. Later a record is a box: for one node in every tree that it can serve, the
ancestors are passed with values that surely go the right way, and the value of the node's own feature lies inside its
bracket. Nodes that need most come first; the records that ask about one node divide its bracket evenly.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fedleak.attacks.boosting.known_shape import NONE, Brackets
from fedleak.core.arrays import FloatArray, IntArray

LEAST_PART = 0.5  # of a bracket that must be open to a record which asks about it


def latin_hypercube(ranges: FloatArray, n_records: int, rng: np.random.Generator) -> FloatArray:
    """Every feature's values in even steps, in an order of its own."""
    steps = (np.arange(1, n_records + 1) / (n_records + 1))[:, None] * np.ones(len(ranges))
    return np.asarray(ranges[:, 0] + rng.permuted(steps, axis=0) * (ranges[:, 1] - ranges[:, 0]))


@dataclass
class _Box:
    """A record in the making: what each feature may still be, and the node that asks through it."""

    low: FloatArray
    high: FloatArray
    asking: IntArray  # a feature's node, by its position among the unknown ones, or NONE
    trees: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class _Way:
    """What a node needs: limits of features on the way, and its own bracket (none while its feature is not known)."""

    number: int
    tree: int
    limits: tuple[tuple[int, float, float], ...]
    feature: int
    low: float
    high: float


def box_batch(brackets: Brackets, epsilon: float, n_records: int, rng: np.random.Generator) -> FloatArray:
    widths = brackets.widths()
    ways = {number: _way(brackets, number) for number in np.flatnonzero(widths > epsilon).tolist()}
    needs = _needs(widths, epsilon, brackets.ranges)
    credit = np.zeros(len(widths))
    boxes = []
    for _ in range(n_records):
        box = _Box(brackets.ranges[:, 0].copy(), brackets.ranges[:, 1].copy(), np.full(len(brackets.ranges), NONE))
        urgency = (credit + 0.5 * rng.random(len(credit))) / needs
        for number in sorted(ways, key=lambda number: float(urgency[number])):
            credit[number] += _taken(box, ways[number], ways)
        boxes.append(box)
    return _values(boxes, ways, brackets, rng)


def _way(brackets: Brackets, number: int) -> _Way:
    shapes = brackets.shapes
    node = int(shapes.unknown[number])
    limits = []
    for ancestor, goes_left in shapes.paths[node]:
        feature = brackets.feature_of(ancestor)
        if feature != NONE:  # otherwise chance decides whether the record passes
            low, high = brackets.of(ancestor)
            limits.append((feature, -np.inf, low) if goes_left else (feature, high, np.inf))
    feature = brackets.feature_of(node)
    low, high = brackets.of(node) if feature != NONE else (np.nan, np.nan)
    return _Way(number, int(shapes.tree[node]), tuple(limits), feature, low, high)


def _needs(widths: FloatArray, epsilon: float, ranges: FloatArray) -> FloatArray:
    """Shares of the records such that all brackets reach epsilon in the same batch, as near as can be."""
    finite = np.where(np.isfinite(widths), widths, np.ptp(ranges, axis=1).max())
    ratio = np.maximum(finite / epsilon, 1.0)
    n_batches = max(1.0, np.ceil(np.log(ratio.max()) / np.log(40.0)))  # what some dozen records a node achieve
    return np.asarray(np.maximum(ratio ** (1.0 / n_batches), 1.0))


def _taken(box: _Box, way: _Way, ways: dict[int, _Way]) -> float:
    """Put the node into the record if it fits; how much of a probe that is."""
    if way.tree in box.trees:
        return 0.0
    limits = _narrowed(box, way)
    if not all(_keeps_probe(box, feature, low, high, ways) for feature, (low, high) in limits.items()):
        return 0.0
    part = 1.0 if way.feature == NONE else _part(box, way, *_limits_of(box, limits, way.feature), ways)
    if part <= 0:
        return 0.0
    if way.feature != NONE and box.asking[way.feature] == NONE:
        box.asking[way.feature] = way.number
    for feature, (low, high) in limits.items():
        box.low[feature], box.high[feature] = low, high
    box.trees.add(way.tree)
    return part


def _narrowed(box: _Box, way: _Way) -> dict[int, tuple[float, float]]:
    """What the features on the node's way may be if the record is to reach it."""
    found: dict[int, tuple[float, float]] = {}
    for feature, least, most in way.limits:
        low, high = _limits_of(box, found, feature)
        found[feature] = (max(low, least), min(high, most))
    return found


def _limits_of(box: _Box, limits: dict[int, tuple[float, float]], feature: int) -> tuple[float, float]:
    return limits.get(feature) or (float(box.low[feature]), float(box.high[feature]))


def _keeps_probe(box: _Box, feature: int, low: float, high: float, ways: dict[int, _Way]) -> bool:
    """The feature is possible, and if it asks already it may still take most of its bracket's values."""
    if low > high:
        return False
    return box.asking[feature] == NONE or _overlap(ways[int(box.asking[feature])], low, high) >= LEAST_PART


def _part(box: _Box, way: _Way, first: float, last: float, ways: dict[int, _Way]) -> float:
    """What share of the node's bracket the record's value can be in."""
    if box.asking[way.feature] == NONE:
        part = _overlap(way, first, last)
        return part if part >= LEAST_PART or (_trimmed_by_own_path(way) and part > 0) else 0.0
    asking = ways[int(box.asking[way.feature])]
    shared = min(way.high, asking.high, last) - max(way.low, asking.low, first)
    return max(0.0, shared / (asking.high - asking.low))


def _trimmed_by_own_path(way: _Way) -> bool:
    """An ancestor on the same feature whose bracket overlaps: only a part can be asked about as yet."""
    return any(feature == way.feature for feature, _, _ in way.limits)


def _overlap(way: _Way, low: float, high: float) -> float:
    return (min(way.high, high) - max(way.low, low)) / (way.high - way.low)


def _values(boxes: list[_Box], ways: dict[int, _Way], brackets: Brackets, rng: np.random.Generator) -> FloatArray:
    low = np.stack([box.low for box in boxes])
    high = np.stack([box.high for box in boxes])
    asking = np.stack([box.asking for box in boxes])
    found = low + _fillers(low.shape, brackets, rng) * (high - low)
    for number, way in ways.items():
        if way.feature == NONE:
            continue
        records = np.flatnonzero(asking[:, way.feature] == number)
        first = np.maximum(low[records, way.feature], way.low)
        last = np.minimum(high[records, way.feature], way.high)
        steps = rng.permutation(len(records)) + 1
        found[records, way.feature] = first + (last - first) * steps / (len(records) + 1)
    return np.clip(found, low, high)


def _fillers(shape: tuple[int, ...], brackets: Brackets, rng: np.random.Generator) -> FloatArray:
    """Of features that ask about no node. While some node's feature is hidden, half of them are at an end of their
    range: a threshold there separates nothing else."""
    inside = rng.random(shape)
    if not np.isinf(brackets.widths()).any():
        return inside
    return np.asarray(np.where(rng.random(shape) < 0.5, np.rint(inside), inside))
