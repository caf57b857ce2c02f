"""Split points from scores alone, however many trees add up to one: a score jumps where a record crosses a threshold.

Along a line one column moves and all others stay. Every threshold on the way shows as a jump, whose place is narrowed
to epsilon like a root. The label holder knows the weight of every leaf: a jump is the difference of two leaves on
either side of the node that was crossed, or the sum of two such differences where two trees share a threshold. What
fits one choice of nodes alone is taken for it; that no larger sum fits as well is likely, not proved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from fedleak.attacks.boosting.known_shape import NONE, TreeShapes
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.errors import BudgetSpentError

Scores = Callable[[FloatArray], FloatArray]  # records to (records, scores)
NEAR = 1e-10  # rounding of sums of some dozen weights
MOST_BATCHES = 200
N_LINES_AT_ONCE = 2  # records from which every column moves
MOST_IDLE = 4  # times that new lines name no new node


@dataclass(frozen=True, eq=False)
class Crossings:
    """Ways to cross one node, by column: what that adds to its tree's score."""

    node: IntArray
    tree: IntArray
    change: FloatArray  # sorted

    def kept(self, keep: BoolArray) -> Crossings:
        return Crossings(self.node[keep], self.tree[keep], self.change[keep])


def crossings(shapes: TreeShapes, weight: FloatArray, feature: int) -> Crossings:
    """From any leaf left of a node to any leaf right of it, over the unknown nodes that may test the column."""
    found = []
    for node in shapes.unknown.tolist():
        if shapes.feature[node] in (feature, NONE):
            left, right = (leaves_below(shapes, int(side[node])) for side in (shapes.left, shapes.right))
            change = (weight[right][None, :] - weight[left][:, None]).ravel()
            found.append((np.full(len(change), node), np.full(len(change), shapes.tree[node]), change))
    if not found:
        return Crossings(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    node, tree, change = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.argsort(change, kind="stable")
    return Crossings(node[order], tree[order], change[order])


def leaves_below(shapes: TreeShapes, node: int) -> IntArray:
    if not shapes.inner[node]:
        return np.array([node], dtype=np.int64)
    return np.concatenate([leaves_below(shapes, int(side[node])) for side in (shapes.left, shapes.right)])


def crossed(ways: Crossings, jump: float) -> list[int] | None:
    """The nodes whose crossing makes the jump: one, or two of different trees; None where several choices fit."""
    single = [(int(node),) for node in ways.node[_near(ways.change, jump)]]
    pairs = [(min(pair), max(pair)) for pair in _pairs(ways, jump)]
    fitting: set[tuple[int, ...]] = {*single, *pairs}
    return list(fitting.pop()) if len(fitting) == 1 else None


def _near(change: FloatArray, jump: float) -> slice:
    return slice(int(np.searchsorted(change, jump - NEAR)), int(np.searchsorted(change, jump + NEAR, "right")))


def _pairs(ways: Crossings, jump: float) -> Iterator[tuple[int, int]]:
    low = np.searchsorted(ways.change, jump - ways.change - NEAR)
    high = np.searchsorted(ways.change, jump - ways.change + NEAR, "right")
    for first in np.flatnonzero(high > low):
        for second in range(low[first], high[first]):
            if ways.tree[first] != ways.tree[second]:
                yield int(ways.node[first]), int(ways.node[second])


@dataclass
class _Line:
    """Records that differ in one column: its values, ascending, and the scores there."""

    record: FloatArray
    feature: int
    values: FloatArray
    scores: FloatArray

    def wide(self, epsilon: float) -> IntArray:
        """Intervals that hold a jump and are wider than epsilon."""
        moved = (np.abs(np.diff(self.scores, axis=0)) > NEAR).any(axis=1)
        return np.flatnonzero(moved & (np.diff(self.values) > epsilon))

    def take(self, values: FloatArray, scores: FloatArray) -> None:
        order = np.argsort(np.concatenate([self.values, values]), kind="stable")
        self.values = np.concatenate([self.values, values])[order]
        self.scores = np.concatenate([self.scores, scores])[order]


@dataclass
class Jumped:
    """Brackets by node (feature, low, high), and what they cost."""

    brackets: dict[int, tuple[int, float, float]] = field(default_factory=dict)
    n_batches: int = 0
    n_records: int = 0
    n_jumps: int = 0
    spent: bool = False


def jump_search(
    shapes: TreeShapes,
    weight: FloatArray,
    score_of_tree: IntArray,
    ranges: FloatArray,
    features: IntArray,
    ask: Scores,
    *,
    epsilon: float,
    n_records: int,
    rng: np.random.Generator,
) -> Jumped:
    found = Jumped()
    ways = {int(feature): crossings(shapes, weight, int(feature)) for feature in features}
    idle = 0
    try:
        while idle < MOST_IDLE and found.n_batches < MOST_BATCHES and len(found.brackets) < len(shapes.unknown):
            known = len(found.brackets)
            for line in _followed(found, ranges, features, ask, epsilon, n_records, rng):
                _explain(found, line, ways[line.feature], score_of_tree, epsilon)
            idle = idle + 1 if len(found.brackets) == known else 0
    except BudgetSpentError:
        found.spent = True
    return found


def _followed(
    found: Jumped,
    ranges: FloatArray,
    features: IntArray,
    ask: Scores,
    epsilon: float,
    n_records: int,
    rng: np.random.Generator,
) -> list[_Line]:
    """Lines through some records, with every jump on them narrowed to epsilon."""
    lines = []
    for _ in range(N_LINES_AT_ONCE):
        record = ranges[:, 0] + rng.random(len(ranges)) * np.ptp(ranges, axis=1)
        lines += [_Line(record, int(f), np.zeros(0), np.zeros((0, 0))) for f in features]
    _answered(found, lines, [_known_ends(found, line.feature, ranges) for line in lines], ask, n_records)
    while found.n_batches < MOST_BATCHES:
        wide = [line.wide(epsilon) for line in lines]
        n_wide = sum(map(len, wide))
        if not n_wide:
            break
        parts = max(1, n_records // n_wide)
        steps = np.arange(1, parts + 1) / (parts + 1)
        inside = [
            (line.values[w][:, None] + steps * (line.values[w + 1] - line.values[w])[:, None]).ravel()
            for line, w in zip(lines, wide, strict=True)
        ]
        _answered(found, lines, inside, ask, n_records)
    return lines


def _known_ends(found: Jumped, feature: int, ranges: FloatArray) -> FloatArray:
    """The ends of the range and of every bracket that is known on the column: what jumps there is explained at once."""
    ends = [end for f, low, high in found.brackets.values() if f == feature for end in (low, high)]
    return np.unique([*ranges[feature], *ends])


def _answered(found: Jumped, lines: list[_Line], values: list[FloatArray], ask: Scores, n_records: int) -> None:
    records = [_moved(line, part) for line, part in zip(lines, values, strict=True)]
    whole = np.concatenate(records)
    answers = []
    for start in range(0, len(whole), n_records):
        answers.append(ask(whole[start : start + n_records]))
        found.n_batches += 1
        found.n_records += len(answers[-1])
    told = np.split(np.concatenate(answers), np.cumsum([len(part) for part in records])[:-1])
    for line, part, scores in zip(lines, values, told, strict=True):
        line.scores = line.scores.reshape(len(line.values), scores.shape[1])
        line.take(part, scores)


def _moved(line: _Line, values: FloatArray) -> FloatArray:
    records = np.repeat(line.record[None], len(values), axis=0)
    records[:, line.feature] = values
    return records


def _explain(found: Jumped, line: _Line, ways: Crossings, score_of_tree: IntArray, epsilon: float) -> None:
    """Name the node of every narrow jump; one that is named twice is where both say, if that is possible."""
    steps, widths = np.diff(line.scores, axis=0), np.diff(line.values)
    for place, score in np.argwhere((np.abs(steps) > NEAR) & (widths <= epsilon)[:, None]):
        found.n_jumps += 1
        mine = ways.kept(score_of_tree[ways.tree] == score)
        for node in crossed(mine, float(steps[place, score])) or ():
            low, high = float(line.values[place]), float(line.values[place + 1])
            before = found.brackets.get(node, (line.feature, low, high))
            if before[0] == line.feature and low < before[2] and before[1] < high:
                found.brackets[node] = (line.feature, max(low, before[1]), min(high, before[2]))
