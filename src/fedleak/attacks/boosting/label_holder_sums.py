"""What the label holder has of one partner's columns: for every tree the gradients, and sums by candidate and node.

Candidates of one column are nested: their left rows are those of the bins up to a cut. So however a partner orders
them, sorting by the sum of h at the root puts the cuts in order, and differences of neighbours are sums by bin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.boosting.histogram_system import NodeSums
from fedleak.core.arrays import AnyArray, BoolArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.payload import Array, Payload, Tree
from fedleak.core.steps import LABELS
from fedleak.core.transcript import Message, Record
from fedleak.core.view import View
from fedleak.protocols.boosting import vocabulary as boosting


@dataclass(frozen=True, eq=False)
class TreeOfPartner:
    """Rows by their place in the table. ``sums`` has (g, h) of every candidate at each node that has them."""

    g: IntArray
    h: IntArray
    column_of: IntArray  # of every candidate
    rows_of: Mapping[int, IntArray]
    sums: Mapping[int, IntArray]  # node: (candidates, 2)
    children: Mapping[int, tuple[int, int]]
    won: Mapping[int, tuple[int, BoolArray]]  # node that the partner splits: candidate, which of its rows go left


@dataclass(frozen=True, eq=False)
class ColumnOrder:
    """The candidates of a column in the order of their cuts. ``last_missing``: the last group has the missing cells."""

    cuts: IntArray
    last_missing: bool


def trees_of_partner(view: View, partner: str) -> tuple[IntArray, dict[int, TreeOfPartner]]:
    """Ids of all rows, and the trees in which the partner took part, by number."""
    ids = np.asarray(view.table(LABELS).ids, dtype=np.int64)
    seen = _Seen(view, partner, {int(row): number for number, row in enumerate(ids)})
    found = {number: seen.tree(number) for number in sorted(seen.candidates) if number in seen.gradients}
    if not found:
        raise MissingFromViewError(f"the view holds no sums of {partner}'s candidates")
    return ids, found


def column_sums(trees: Sequence[TreeOfPartner], column: int) -> list[tuple[NodeSums, bool]]:
    """Sums by bin of one column at the finest nodes of all trees, and whether their last bin is that of missing cells.

    A tree whose cuts cannot be put in order says nothing.
    """
    found = []
    for tree in trees:
        order = cut_order(tree, column)
        if order is not None:
            found += [(node, order.last_missing) for node in _finest(tree, order)]
    return found


def cut_order(tree: TreeOfPartner, column: int) -> ColumnOrder | None:
    """None where the column is not offered, or sums of h at the root tie and those of g do not."""
    own = np.flatnonzero(tree.column_of == column)
    if not len(own):
        return None
    root, total = tree.sums[0][own], np.array([tree.g[tree.rows_of[0]].sum(), tree.h[tree.rows_of[0]].sum()])
    with_missing = _present_cuts(root, total)
    kept = np.arange(len(own)) if with_missing is None else with_missing
    order = kept[np.lexsort((root[kept, 0], root[kept, 1]))]
    steps = np.diff(root[order], axis=0)
    if ((steps[:, 1] == 0) & (steps[:, 0] != 0)).any():
        return None
    return ColumnOrder(own[order], with_missing is not None)


def _present_cuts(root: IntArray, total: IntArray) -> IntArray | None:
    """Of a column with missing cells, the candidates that send those to the right; None where there are none.

    One candidate has all present cells, so that the missing ones are the rest; every other cut is listed with them and
    without. Sums of other columns do not come in such pairs.
    """
    pairs = {(int(g), int(h)): number for number, (g, h) in enumerate(root)}
    if len(root) < 3 or len(root) % 2 == 0 or len(pairs) < len(root):
        return None
    for last, (g, h) in enumerate(root):
        missing = (int(total[0] - g), int(total[1] - h))
        others = [key for key, number in pairs.items() if number != last]
        with_them = {(key[0] + missing[0], key[1] + missing[1]) for key in others} & set(others)
        if missing[1] > 0 and len(with_them) * 2 == len(others):
            return np.array([number for key, number in pairs.items() if key not in with_them], dtype=np.int64)
    return None


def _finest(tree: TreeOfPartner, order: ColumnOrder) -> Iterator[NodeSums]:
    """Nodes below which no sums are known; what a parent's sums leave over belongs to its other child."""
    for node in tree.sums:
        whole = _by_bin(tree, node, order)
        children = tree.children.get(node, ())
        seen = [child for child in children if child in tree.sums]
        if len(seen) == 2:
            continue
        if len(seen) == 1:
            rows = np.setdiff1d(tree.rows_of[node], tree.rows_of[seen[0]])
            yield _node(tree, rows, whole - _by_bin(tree, seen[0], order))
        elif node in tree.won and tree.won[node][0] in order.cuts:
            yield from _halves(tree, node, whole, order)
        else:
            yield _node(tree, tree.rows_of[node], whole)


def _halves(tree: TreeOfPartner, node: int, whole: IntArray, order: ColumnOrder) -> Iterator[NodeSums]:
    """A node that this column splits: bins up to the cut are those of the left rows."""
    candidate, left = tree.won[node]
    cut = int(np.flatnonzero(order.cuts == candidate)[0])
    below = whole.copy()
    below[cut + 1 :] = 0
    rows = tree.rows_of[node]
    yield _node(tree, rows[left], below)
    yield _node(tree, rows[~left], whole - below)


def _by_bin(tree: TreeOfPartner, node: int, order: ColumnOrder) -> IntArray:
    rows = tree.rows_of[node]
    total = np.array([[tree.g[rows].sum(), tree.h[rows].sum()]])
    return np.diff(np.concatenate([np.zeros((1, 2), np.int64), tree.sums[node][order.cuts], total]), axis=0)


def _node(tree: TreeOfPartner, rows: IntArray, sums: IntArray) -> NodeSums:
    return NodeSums(rows, tree.g[rows], tree.h[rows], sums)


class _Seen:
    """The messages and records about one partner, by tree."""

    def __init__(self, view: View, partner: str, place: Mapping[int, int]) -> None:
        self.place = place  # of each row's id in the table
        self.gradients = {record.round: record.value for record in view.records(boosting.OWN_GRADIENTS)}
        self.candidates = {m.round: m.payload for m in view.at(boosting.CANDIDATES) if m.sender == partner}
        self.node_rows = _by_round(view.at(boosting.NODE_ROWS, partner))
        self.chosen = _by_round(view.at(boosting.CHOSEN_SPLIT, partner))
        self.routing = _by_round(m for m in view.at(boosting.ROUTING) if m.sender == partner)
        self.opened = _by_round(view.records(boosting.SUMS_OF.of(partner)))
        self.shapes = view.record(boosting.TREES)

    def tree(self, number: int) -> TreeOfPartner:
        g, h = (np.zeros(len(self.place), dtype=np.int64) for _ in range(2))
        sampled = self._places(self.gradients[number], "rows")
        g[sampled], h[sampled] = (integers(self.gradients[number], name) for name in ("g", "h"))
        rows_of, children = self._rows_of(number), self._children(number)
        column_of = numbers(self.candidates[number]).astype(np.int64)
        return TreeOfPartner(
            g, h, column_of, rows_of, self._sums(number, children), children, self._won(number, rows_of)
        )

    def _rows_of(self, number: int) -> dict[int, IntArray]:
        found: dict[int, IntArray] = {}
        for payload in self.node_rows.get(number, ()):
            rows, nodes = self._places(payload, "rows"), integers(payload, "nodes")
            found |= {int(node): rows[nodes == node] for node in np.unique(nodes)}
        return found

    def _children(self, number: int) -> dict[int, tuple[int, int]]:
        sizes = integers(self.shapes, "sizes")
        tree = slice(int(sizes[:number].sum()), int(sizes[: number + 1].sum()))
        left, right = integers(self.shapes, "left")[tree], integers(self.shapes, "right")[tree]
        return {int(node): (int(left[node]), int(right[node])) for node in np.flatnonzero(left != boosting.LEAF)}

    def _sums(self, number: int, children: Mapping[int, tuple[int, int]]) -> dict[int, IntArray]:
        """Those that were opened, and a sibling's where it is the parent's less the other's."""
        found: dict[int, IntArray] = {}
        for payload in self.opened.get(number, ()):
            both = np.stack([integers(payload, "g"), integers(payload, "h")], axis=2)
            found |= {int(node): both[row] for row, node in enumerate(integers(payload, "nodes"))}
        for node, (left, right) in sorted(children.items()):
            for known, other in ((left, right), (right, left)):
                if node in found and known in found and other not in found:
                    found[other] = found[node] - found[known]
        return found

    def _won(self, number: int, rows_of: Mapping[int, IntArray]) -> dict[int, tuple[int, BoolArray]]:
        found: dict[int, tuple[int, BoolArray]] = {}
        for chosen, routed in zip(self.chosen.get(number, ()), self.routing.get(number, ()), strict=True):
            lefts = self._places(routed, "rows")[numbers(routed, "left").astype(bool)]
            for node, candidate in zip(integers(chosen, "nodes"), integers(chosen, "candidates"), strict=True):
                found[int(node)] = int(candidate), np.isin(rows_of[int(node)], lefts)
        return found

    def _places(self, payload: Payload, name: str) -> IntArray:
        return np.array([self.place[int(row)] for row in integers(payload, name)], dtype=np.int64)


def _by_round(found: Iterable[Message] | Iterable[Record]) -> dict[int, list[Payload]]:
    result: dict[int, list[Payload]] = {}
    for one in found:
        result.setdefault(one.round, []).append(one.payload if isinstance(one, Message) else one.value)
    return result


def integers(payload: Payload, name: str) -> IntArray:
    return numbers(payload, name).astype(np.int64)


def numbers(payload: Payload, name: str | None = None) -> AnyArray:
    found = payload.items.get(name) if name is not None and isinstance(payload, Tree) else payload
    if not isinstance(found, Array):
        raise MissingFromViewError(f"{name or 'a message'} must be an array; got {type(found).__name__}")
    return found.values
