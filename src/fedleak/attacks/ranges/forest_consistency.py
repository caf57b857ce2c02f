"""Which leaves of each tree can have cast the votes of a forest, by propagating intervals.

A tree's vote is 0 or 1 for a class. Own features leave some leaves of each tree. If, for a class, the trees that can
vote for it are exactly as many as its votes, each of them did; if those that must vote for it are already as many, no
other did. What a tree must have done bounds the columns, which removes leaves of other trees, until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.models.forest import ForestModel
from fedleak.models.inversion.tree_paths import TreePaths, tree_paths

MAX_SWEEPS = 10


@dataclass(frozen=True, eq=False)
class ForestPaths:
    """All leaves of all trees: the tree of each, its box over the unknown columns, and its class."""

    tree: IntArray  # (leaves,)
    low: FloatArray  # (leaves, unknowns)
    high: FloatArray
    label: IntArray  # (leaves,)
    n_trees: int
    own: tuple[TreePaths, ...]


def forest_paths(forest: ForestModel, unknown: IntArray) -> ForestPaths:
    each = tuple(tree_paths(tree) for tree in forest.trees)
    return ForestPaths(
        np.concatenate([np.full(len(paths.leaves), number) for number, paths in enumerate(each)]),
        np.clip(np.concatenate([paths.low[:, unknown] for paths in each]), 0.0, 1.0),
        np.clip(np.concatenate([paths.high[:, unknown] for paths in each]), 0.0, 1.0),
        np.concatenate([np.argmax(paths.outputs, axis=1) for paths in each]),
        len(each),
        each,
    )


def propagate(paths: ForestPaths, open_leaves: BoolArray, votes: IntArray) -> tuple[FloatArray, BoolArray]:
    """Tighten one row: (unknowns, 2) bounds and the leaves that are left. ``votes`` is (classes,)."""
    bounds = np.stack([np.zeros(paths.low.shape[1]), np.ones(paths.low.shape[1])], axis=1)
    left = open_leaves.copy()
    for _ in range(MAX_SWEEPS):
        before = int(left.sum())
        left &= _votes_fit(paths, left, votes)
        bounds = _bounds_of(paths, left)
        left &= ((paths.low < bounds[:, 1]) & (paths.high > bounds[:, 0])).all(axis=1)
        if int(left.sum()) == before:
            break
    return bounds, left


def _votes_fit(paths: ForestPaths, left: BoolArray, votes: IntArray) -> BoolArray:
    """Leaves that the counts still allow."""
    can = np.zeros((paths.n_trees, len(votes)), dtype=bool)
    can[paths.tree[left], paths.label[left]] = True
    must = can & (can.sum(axis=1, keepdims=True) == 1)
    full = must.sum(axis=0) == votes  # nobody else may vote for this class
    needed = can.sum(axis=0) == votes  # everybody who can vote for this class did
    allowed = can & (must | ~full)
    has_needed = (can & needed).any(axis=1)
    allowed[has_needed] &= needed
    # A contradiction would leave a tree without a vote: then the row says nothing.
    return np.asarray(allowed[paths.tree, paths.label] if allowed.any(axis=1).all() else left)


def _bounds_of(paths: ForestPaths, left: BoolArray) -> FloatArray:
    """A column lies, for every tree, within the hull of the tree's leaves: the intersection over the trees."""
    width = paths.low.shape[1]
    low, high = np.full((paths.n_trees, width), np.inf), np.full((paths.n_trees, width), -np.inf)
    np.minimum.at(low, paths.tree[left], paths.low[left])
    np.maximum.at(high, paths.tree[left], paths.high[left])
    lower, upper = low.max(axis=0), high.min(axis=0)
    crossed = lower > upper
    return np.stack([np.where(crossed, 0.0, lower), np.where(crossed, 1.0, upper)], axis=1)
