"""Two ways to thresholds through a service that says which leaf a record ends in.

``box_search`` is ours: batches of records that ask about many nodes at once. ``printed_search`` is algorithm 1 of Li et
al. 2021: one node after the other, its interval in even steps. The paper takes the unknown nodes of a path from a
stack, the deepest first; a record cannot be steered past an unknown ancestor, so they are taken from the root down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.boosting.box_batches import box_batch, latin_hypercube
from fedleak.attacks.boosting.known_shape import NONE, Brackets, TreeShapes
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.errors import BudgetSpentError

Ask = Callable[[FloatArray], IntArray]  # records (rows, features) to the leaf in every tree, numbered over all trees
MOST_BATCHES = 200
MOST_IDLE = 3  # batches that narrow no bracket


@dataclass
class Asked:
    """Brackets of all unknown nodes, and what they cost."""

    brackets: Brackets
    n_batches: int = 0
    n_records: int = 0
    n_idle: int = 0  # batches since the last that narrowed a bracket
    spent: bool = False  # the service's budget ended the search


def box_search(
    shapes: TreeShapes,
    ranges: FloatArray,
    hidden_features: IntArray,
    ask: Ask,
    *,
    epsilon: float,
    n_records: int,
    rng: np.random.Generator,
) -> Asked:
    asked = Asked(Brackets(shapes, ranges, hidden_features))
    records = latin_hypercube(ranges, n_records, rng)
    while asked.n_batches < MOST_BATCHES and _learnt(asked, ask, records):
        if not (asked.brackets.widths() > epsilon).any():
            break
        records = box_batch(asked.brackets, epsilon, n_records, rng)
    return asked


def printed_search(
    shapes: TreeShapes,
    ranges: FloatArray,
    hidden_features: IntArray,
    ask: Ask,
    *,
    epsilon: float,
    n_records: int,
) -> Asked:
    """Algorithm 1: what a batch says of other nodes is not used. A node whose feature is hidden is beyond it."""
    asked = Asked(Brackets(shapes, ranges, hidden_features))
    for number, node in enumerate(shapes.unknown):  # parents stand before their children
        feature = int(shapes.feature[node])
        while feature != NONE and asked.brackets.widths()[number] > epsilon:
            if not _learnt(asked, ask, _even_steps(asked.brackets, int(node), feature, n_records), number):
                return asked
    return asked


def _even_steps(brackets: Brackets, node: int, feature: int, n_records: int) -> FloatArray:
    """A record that passes all ancestors, with the node's own feature from low to high."""
    low, high = brackets.ranges[:, 0].copy(), brackets.ranges[:, 1].copy()
    for ancestor, goes_left in brackets.shapes.paths[node]:
        tested = brackets.feature_of(ancestor)
        if goes_left:
            high[tested] = min(high[tested], brackets.of(ancestor)[0])
        else:
            low[tested] = max(low[tested], brackets.of(ancestor)[1])
    records = np.repeat(((low + high) / 2)[None], n_records, axis=0)
    first, last = brackets.of(node)
    records[:, feature] = np.clip(np.linspace(first, last, n_records), low[feature], high[feature])
    return records


def _learnt(asked: Asked, ask: Ask, records: FloatArray, only: int | None = None) -> bool:
    """False where the budget is spent, or batch after batch says nothing new."""
    try:
        leaves = ask(records)
    except BudgetSpentError:
        asked.spent = True
        return False
    known = np.concatenate([asked.brackets.low, asked.brackets.high])
    asked.brackets.learn(records, leaves, only)
    asked.n_batches += 1
    asked.n_records += len(records)
    news = not np.array_equal(known, np.concatenate([asked.brackets.low, asked.brackets.high]))
    asked.n_idle = 0 if news else asked.n_idle + 1
    return asked.n_idle < MOST_IDLE
