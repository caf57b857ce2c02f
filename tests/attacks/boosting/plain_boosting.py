"""Gradient-boosted trees in plaintext with fixed-point sums: what both sides of the protocol see, without a protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

FRACTION_BITS = 40


@dataclass
class GrownNode:
    """Of one tree: its rows, and for every column the sums of g and h in each bin; ``cut`` where it was split."""

    rows: Ints
    sums: Ints | None = None  # (columns, bins, 2)
    column: int = -1
    bin: int = -1
    left: int = -1
    right: int = -1


@dataclass
class GrownTree:
    g: Ints
    h: Ints
    nodes: list[GrownNode] = field(default_factory=list)

    def leaves(self, n_rows: int) -> Ints:
        found = np.zeros(n_rows, dtype=np.int64)
        for number, node in enumerate(self.nodes):
            if node.left < 0:
                found[node.rows] = number
        return found


@dataclass(frozen=True)
class Boosting:
    bins: Ints  # (rows, columns)
    edges: tuple[Floats, ...]  # a column's upper limits of all bins but the last
    trees: tuple[GrownTree, ...]


def quantile_edges(column: Floats, n_bins: int) -> Floats:
    cuts = np.quantile(column, np.arange(1, n_bins) / n_bins, method="inverted_cdf")
    found: Floats = np.unique(cuts[cuts < column.max()])
    return found


def boosted(
    table: Floats,
    classes: Ints,
    *,
    n_rounds: int,
    depth: int,
    n_bins: int = 32,
    rate: float = 0.3,
    penalty: float = 0.1,
    softmax: bool = True,
    noise: Floats | None = None,
) -> Boosting:
    """``softmax``: a tree a class and round; otherwise one of two classes."""
    edges = tuple(quantile_edges(column, n_bins) for column in table.T)
    bins = np.stack([np.searchsorted(e, c, side="left") for e, c in zip(edges, table.T, strict=True)], axis=1)
    targets = np.eye(classes.max() + 1)[classes] if softmax else classes[:, None].astype(np.float64)
    scores = np.zeros(targets.shape)
    trees = []
    for _ in range(n_rounds):
        g, h = _gradients(scores, targets, softmax)
        for k in range(targets.shape[1]):
            tree = grown(bins, g[:, k], h[:, k], depth, n_bins, penalty)
            trees.append(tree)
            for node in tree.nodes:
                if node.left < 0:
                    scores[node.rows, k] -= rate * g[node.rows, k].sum() / (h[node.rows, k].sum() + penalty)
    return Boosting(bins.astype(np.int64), edges, tuple(trees))


def _gradients(scores: Floats, targets: Floats, softmax: bool) -> tuple[Floats, Floats]:
    if softmax:
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
    else:
        p = 1 / (1 + np.exp(-scores))
    return p - targets, np.maximum(p * (1 - p), 1e-9)


def grown(bins: Ints, g: Floats, h: Floats, depth: int, n_bins: int, penalty: float) -> GrownTree:
    scale = 2.0**FRACTION_BITS
    tree = GrownTree(np.rint(g * scale).astype(np.int64), np.rint(h * scale).astype(np.int64))
    level = [0]
    tree.nodes.append(GrownNode(np.arange(len(bins))))
    for _ in range(depth):
        level = [child for number in level for child in _split(tree, number, bins, n_bins, penalty)]
    return tree


def _split(tree: GrownTree, number: int, bins: Ints, n_bins: int, penalty: float) -> list[int]:
    node = tree.nodes[number]
    if len(node.rows) < 2:
        return []
    node.sums = np.stack([_histogram(tree, node.rows, column, n_bins) for column in bins.T])
    left = np.cumsum(node.sums, axis=1)[:, :-1] / 2.0**FRACTION_BITS
    whole = node.sums.sum(axis=1)[:, None] / 2.0**FRACTION_BITS
    gain = _score(left, penalty) + _score(whole - left, penalty) - _score(whole, penalty)
    gain[(left[..., 1] <= 1e-9) | ((whole - left)[..., 1] <= 1e-9)] = -1.0
    column, cut = np.unravel_index(np.argmax(gain), gain.shape)
    if gain[column, cut] < 1e-3:
        return []
    goes_left = bins[node.rows, column] <= cut
    node.column, node.bin = int(column), int(cut)
    node.left, node.right = len(tree.nodes), len(tree.nodes) + 1
    tree.nodes += [GrownNode(node.rows[goes_left]), GrownNode(node.rows[~goes_left])]
    return [node.left, node.right]


def _histogram(tree: GrownTree, rows: Ints, column: Ints, n_bins: int) -> Ints:
    found = np.zeros((n_bins, 2), dtype=np.int64)
    np.add.at(found, column[rows], np.stack([tree.g[rows], tree.h[rows]], axis=1))
    return found


def _score(sums: Floats, penalty: float) -> Floats:
    found: Floats = sums[..., 0] ** 2 / (sums[..., 1] + penalty)
    return found
