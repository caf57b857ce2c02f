"""What the label holder has of one partner's columns: for every tree the gradients, and sums by candidate and node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

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


def trees_of_partner(view: View, partner: str) -> tuple[IntArray, dict[int, TreeOfPartner]]:
    """Ids of all rows, and the trees in which the partner took part, by number."""
    ids = np.asarray(view.table(LABELS).ids, dtype=np.int64)
    seen = _Seen(view, partner, {int(row): number for number, row in enumerate(ids)})
    found = {number: seen.tree(number) for number in sorted(seen.candidates) if number in seen.gradients}
    if not found:
        raise MissingFromViewError(f"the view holds no sums of {partner}'s candidates")
    return ids, found


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
