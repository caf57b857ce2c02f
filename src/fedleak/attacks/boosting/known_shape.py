"""Trees of which the shape is known and some thresholds are not: who is where, and what answers say about thresholds.

A value at most the threshold goes left. ``low`` and ``high`` bracket it: low <= threshold < high. A value at most low
surely goes left, one of at least high surely right. A threshold that is known is bracketed by itself and the next
number above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray, Value, freeze

NONE = -1


@dataclass(frozen=True, eq=False)
class TreeShapes(Value):
    """Nodes of all trees, one tree after the other; children are numbered over all trees.

    ``feature`` is NONE for leaves and for nodes whose owner hides it; ``threshold`` is NaN where it is not known.
    """

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    tree: IntArray  # of each node

    def __post_init__(self) -> None:
        for name in ("left", "right", "feature", "threshold", "tree"):
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @cached_property
    def inner(self) -> BoolArray:
        return np.asarray(self.left != NONE)

    @cached_property
    def unknown(self) -> IntArray:
        """Nodes whose threshold is looked for."""
        return np.flatnonzero(self.inner & np.isnan(self.threshold))

    @cached_property
    def paths(self) -> tuple[tuple[tuple[int, bool], ...], ...]:
        """The ancestors of each node from the root down, and whether the way to it is left there."""
        found: list[tuple[tuple[int, bool], ...]] = [()] * len(self.left)
        for node in np.flatnonzero(self.inner):  # parents stand before their children
            found[self.left[node]] = (*found[node], (int(node), True))
            found[self.right[node]] = (*found[node], (int(node), False))
        return tuple(found)

    def visits(self, leaves: IntArray) -> tuple[BoolArray, BoolArray]:
        """(records, unknown nodes): who went left there, and who right. ``leaves`` is (records, trees),
        NONE where it is not known."""
        left, right = (np.zeros((len(leaves), len(self.unknown)), dtype=bool) for _ in range(2))
        place = {int(node): number for number, node in enumerate(self.unknown)}
        for tree in range(leaves.shape[1]):
            for leaf in np.unique(leaves[leaves[:, tree] != NONE, tree]):
                here = leaves[:, tree] == leaf
                for node, goes_left in self.paths[leaf]:
                    if node in place:
                        (left if goes_left else right)[here, place[node]] = True
        return left, right


class Brackets:
    """What is known of the thresholds: for every unknown node and feature, low and high if it tested that feature."""

    def __init__(self, shapes: TreeShapes, ranges: FloatArray, hidden_features: IntArray) -> None:
        """``ranges`` is (features, 2); ``hidden_features`` are those that a node with a hidden feature may test."""
        self.shapes, self.ranges = shapes, ranges
        n_unknown = len(shapes.unknown)
        self.low = np.repeat(ranges[None, :, 0], n_unknown, axis=0)
        self.high = np.repeat(ranges[None, :, 1], n_unknown, axis=0)
        self._told_low, self._told_high = self.low.copy(), self.high.copy()  # by answers alone, without ancestors
        self.possible = np.zeros((n_unknown, len(ranges)), dtype=bool)
        for number, feature in enumerate(shapes.feature[shapes.unknown]):
            self.possible[number, hidden_features if feature == NONE else feature] = True
        self._place = {int(node): number for number, node in enumerate(shapes.unknown)}

    def learn(self, records: FloatArray, leaves: IntArray, only: int | None = None) -> None:
        """``only``: the answers are used for one node, by its number among the unknown, and not for the others."""
        went_left, went_right = self.shapes.visits(leaves)
        for number in range(len(self.shapes.unknown)) if only is None else (only,):
            lefts, rights = records[went_left[:, number]], records[went_right[:, number]]
            largest, smallest = lefts.max(axis=0, initial=-np.inf), rights.min(axis=0, initial=np.inf)
            for low, high in ((self.low, self.high), (self._told_low, self._told_high)):
                low[number], high[number] = np.maximum(low[number], largest), np.minimum(high[number], smallest)
        self.possible &= self.low < self.high
        self._inherit()

    def _inherit(self) -> None:
        """Below a left turn at a node on the same feature no split can be at or above that node's threshold: all rows
        would go one way. Below a right turn none can be below it. That holds where no cell is missing, which nobody
        tells: a split may set missing cells apart. So this says where to ask, and nothing about what was found."""
        for number, node in enumerate(self.shapes.unknown):
            feature = self.feature_of(node)
            if feature == NONE:
                continue
            for ancestor, goes_left in self.shapes.paths[node]:
                if self.feature_of(ancestor) == feature:
                    low, high = self.of(ancestor)
                    if goes_left:
                        self.high[number, feature] = min(self.high[number, feature], high)
                    else:
                        self.low[number, feature] = max(self.low[number, feature], low)

    def feature_of(self, node: int) -> int:
        """NONE while several are possible."""
        if node not in self._place:
            return int(self.shapes.feature[node])
        found = np.flatnonzero(self.possible[self._place[int(node)]])
        return int(found[0]) if len(found) == 1 else NONE

    def of(self, node: int) -> tuple[float, float]:
        """Low and high of a node whose feature is known."""
        if node not in self._place:
            threshold = float(self.shapes.threshold[node])
            return threshold, float(np.nextafter(threshold, np.inf))
        number, feature = self._place[int(node)], self.feature_of(node)
        return float(self.low[number, feature]), float(self.high[number, feature])

    def told(self, node: int) -> tuple[float, float]:
        """The same, by the service's answers alone; an end that it never answered for is that of the range."""
        number, feature = self._place[int(node)], self.feature_of(node)
        return float(self._told_low[number, feature]), float(self._told_high[number, feature])

    def widths(self) -> FloatArray:
        """Of every unknown node; infinite while its feature is not known."""
        found = np.full(len(self.shapes.unknown), np.inf)
        for number, node in enumerate(self.shapes.unknown):
            if self.feature_of(node) != NONE:
                low, high = self.of(node)
                found[number] = high - low
        return found
