"""Which candidate of a column is which cut, as far as sums tell it; and the sums by bin that follow.

Candidates of one column are nested: their left rows are those of the bins up to a cut. So however a partner lists
them, sorting by the sum of h at the root puts the cuts in order, and differences of neighbours are sums by bin. A
column with missing cells has a last cut with all present cells, and lists every other cut twice, with the missing cells
and without. Nobody says which columns those are: both readings are kept until the sums refute one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fedleak.attacks.boosting.histogram_system import NodeSums
from fedleak.attacks.boosting.label_holder_sums import TreeOfPartner
from fedleak.core.arrays import BoolArray, IntArray


class Rest(StrEnum):
    """What the rows are that no cut has on its left."""

    BIN = "the last bin"
    MISSING = "missing cells"
    UNTOLD = "one of the two"


@dataclass(frozen=True, eq=False)
class ColumnOrder:
    """The candidates of a column in one tree, in the order of their cuts."""

    cuts: IntArray
    apart: BoolArray  # cuts whose sums differ from their neighbours', so that their place is certain
    rest: Rest


Reading = tuple[ColumnOrder | None, ...]  # a tree each; None where it offers no such column, or its cuts have no order


def readings(trees: Sequence[TreeOfPartner], column: int) -> list[Reading]:
    """What the column can be; one of them is true. None at all where too many could be.

    Of a column with one candidate nobody can tell whether the right side is the second value or no value. With three,
    the rows A below the cut, B above it and M without a value list A, A + M and A + B: B and M can be exchanged.
    """
    offered = [np.flatnonzero(tree.column_of == column) for tree in trees]
    sizes = {len(own) for own in offered if len(own)}
    if len(sizes) != 1:
        return []
    as_bins = tuple(_ordered(tree, own, Rest.BIN) for tree, own in zip(trees, offered, strict=True))
    if sizes == {1}:
        return [tuple(_first_cut(order) for order in as_bins)]
    with_missing = []
    for tree, own in zip(trees, offered, strict=True):
        found = _with_missing(tree, own) if len(own) else [None]
        if not found:
            return [as_bins]  # missing cells would show in every tree
        with_missing.append(found)
    if sizes == {3}:
        return [tuple(_first_cut(order) for order in as_bins)]
    if all(len(found) == 1 for found in with_missing):
        return [as_bins, tuple(found[0] for found in with_missing)]
    return []


def _ordered(tree: TreeOfPartner, cuts: IntArray, rest: Rest) -> ColumnOrder | None:
    """None where there are no cuts, or sums of h at the root tie and those of g do not."""
    if not len(cuts):
        return None
    root = tree.sums[0][cuts]
    order = np.lexsort((root[:, 0], root[:, 1]))
    steps = np.diff(root[order], axis=0)
    if ((steps[:, 1] == 0) & (steps[:, 0] != 0)).any():
        return None
    moved = steps.any(axis=1)
    return ColumnOrder(cuts[order], np.append(True, moved) & np.append(moved, True), rest)


def _first_cut(order: ColumnOrder | None) -> ColumnOrder | None:
    return None if order is None else ColumnOrder(order.cuts[:1], order.apart[:1], Rest.UNTOLD)


def _with_missing(tree: TreeOfPartner, own: IntArray) -> list[ColumnOrder | None]:
    """The column as one with missing cells, for every candidate that could have all present ones."""
    if len(own) % 2 == 0:
        return []
    nodes = [(sums[own], _total(tree, node)) for node, sums in tree.sums.items()]
    found = []
    for last in range(len(own)):
        kept = _without_missing(*nodes[0], last)
        if kept is not None and all(_without_missing(*node, last) is not None for node in nodes[1:]):
            found.append(_ordered(tree, own[kept], Rest.MISSING))
    return found


def _without_missing(sums: IntArray, total: IntArray, last: int) -> IntArray | None:
    """The candidates that leave the missing cells out, if ``last`` has all cells but those; None if it cannot."""
    missing = total - sums[last]
    if missing[1] < 0:
        return None
    others = np.delete(np.arange(len(sums)), last)
    order = others[np.lexsort((sums[others, 0] * (-1 if missing[0] < 0 else 1), sums[others, 1]))]
    kept, waiting = [last], Counter[tuple[int, int]]()
    for number in order.tolist():  # a cut comes before the same cut with the missing cells
        g, h = sums[number].tolist()
        if waiting[g, h]:
            waiting[g, h] -= 1
        else:
            kept.append(number)
            waiting[g + int(missing[0]), h + int(missing[1])] += 1
    return None if waiting.total() else np.array(kept, dtype=np.int64)


def bin_sums(tree: TreeOfPartner, order: ColumnOrder) -> Iterator[NodeSums]:
    """At nodes below which no sums are known; what a parent's sums leave over belongs to its other child."""
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


def _total(tree: TreeOfPartner, node: int) -> IntArray:
    rows = tree.rows_of[node]
    return np.array([tree.g[rows].sum(), tree.h[rows].sum()])


def _by_bin(tree: TreeOfPartner, node: int, order: ColumnOrder) -> IntArray:
    ends = [np.zeros((1, 2), np.int64), tree.sums[node][order.cuts], _total(tree, node)[None]]
    return np.diff(np.concatenate(ends), axis=0)


def _node(tree: TreeOfPartner, rows: IntArray, sums: IntArray) -> NodeSums:
    return NodeSums(rows, tree.g[rows], tree.h[rows], sums)
