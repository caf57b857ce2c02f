"""A prediction service for made-up records, as the label holder can use it: shapes of the trees, ranges, answers.

The service tells which way partners' nodes send a record; the label holder's own nodes send it as its own columns say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.boosting.known_shape import NONE, TreeShapes
from fedleak.attacks.boosting.label_holder_sums import integers, numbers
from fedleak.attacks.boosting.leaves_of_scores import few_combinations, leaves_of_scores
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.errors import MissingFromViewError
from fedleak.core.oracle import Answer, Oracle
from fedleak.core.payload import Array, Payload, Scalar, Texts, Tree
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from fedleak.protocols.boosting import vocabulary as boosting


@dataclass(frozen=True, eq=False)
class Questions:
    """Columns of all parties, party by party, the label holder's first."""

    shapes: TreeShapes
    starts: IntArray  # of each tree's nodes
    owners: tuple[str, ...]
    owner: IntArray  # of every node
    offsets: IntArray  # of every party's columns
    ranges: FloatArray
    weight: FloatArray  # of the leaves
    score_of_tree: IntArray
    first_score: float

    def columns_of(self, party: str) -> IntArray:
        number = self.owners.index(party)
        ends = np.append(self.offsets[1:], len(self.ranges))
        return np.arange(self.offsets[number], ends[number])

    @property
    def partners_columns(self) -> IntArray:
        return np.arange(self.offsets[1], len(self.ranges))

    def nodes_of(self, party: str) -> IntArray:
        """Among the unknown nodes, by position there."""
        return np.flatnonzero(self.owner[self.shapes.unknown] == self.owners.index(party))

    def ids_of(self, nodes: IntArray) -> IntArray:
        """Tree and number within the tree."""
        tree = self.shapes.tree[nodes]
        return np.stack([tree, nodes - self.starts[tree]], axis=1)

    def asked(self, oracle: Oracle, records: FloatArray) -> IntArray:
        """(records, trees): the leaf of each, numbered over all trees."""
        answer = oracle.query(Array(records))
        if oracle.spec.name == boosting.SCORE_SERVICE:
            return self._leaves_by_scores(numbers(answer.messages[-1].payload))
        return self.leaves(records, _told(answer, self.starts, records, len(self.shapes.left)))

    def scores_asked(self, oracle: Oracle, records: FloatArray) -> FloatArray:
        return numbers(oracle.query(Array(records)).messages[-1].payload).astype(np.float64)

    def names_leaves(self, oracle: Oracle) -> bool:
        """Whether answers tell the leaf in every tree: hops do, and scores of few trees."""
        return oracle.spec.name != boosting.SCORE_SERVICE or few_combinations(self._leaves, self.score_of_tree)

    @property
    def _leaves(self) -> list[IntArray]:
        trees = np.split(np.arange(len(self.weight)), self.starts[1:])
        return [nodes[~self.shapes.inner[nodes]] for nodes in trees]

    def _leaves_by_scores(self, scores: FloatArray) -> IntArray:
        return leaves_of_scores(scores, self.weight, self._leaves, self.score_of_tree, self.first_score)

    def leaves(self, records: FloatArray, told: BoolArray) -> IntArray:
        """``told`` says of every record and node whether the service sent it left there."""
        shapes = self.shapes
        at = np.repeat(self.starts[None], len(records), axis=0)
        everyone = np.arange(len(records))[:, None]
        while (inner := shapes.inner[at]).any():
            own = np.isfinite(shapes.threshold[at])
            by_own = records[everyone, np.maximum(shapes.feature[at], 0)] <= np.nan_to_num(shapes.threshold[at])
            left = np.where(own, by_own, told[everyone, at])
            at = np.where(inner, np.where(left, shapes.left[at], shapes.right[at]), at)
        return at


def questions(view: View) -> Questions:
    held = view.record(boosting.TREES)
    sizes, owner = integers(held, "sizes"), integers(held, "owner")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    tree = np.repeat(np.arange(len(sizes)), sizes)
    owners = held.items.get("owners") if isinstance(held, Tree) else None
    if not isinstance(owners, Texts):
        raise MissingFromViewError(f"record {boosting.TREES.name!r} must name the owners of nodes")
    widths = [view.facts.party(name).n_features for name in owners.values]
    if any(width is None for width in widths):
        raise MissingFromViewError("the number of each party's columns must be known to make records")
    offsets = np.cumsum([0, *(width or 0 for width in widths)])[:-1].astype(np.int64)
    inner, column = owner != boosting.LEAF, integers(held, "column")
    shapes = TreeShapes(
        left=np.where(inner, integers(held, "left") + starts[tree], NONE),
        right=np.where(inner, integers(held, "right") + starts[tree], NONE),
        feature=np.where(inner & (column != boosting.HIDDEN), column + offsets[np.maximum(owner, 0)], NONE),
        threshold=np.where(owner == 0, numbers(held, "threshold"), np.nan),
        tree=tree,
    )
    first_score = held.items.get("first_score") if isinstance(held, Tree) else None
    return Questions(
        shapes,
        starts,
        owners.values,
        owner,
        offsets,
        _ranges(view, owners.values),
        numbers(held, "weight").astype(np.float64),
        integers(held, "score_of_tree"),
        float(first_score.value or 0.0) if isinstance(first_score, Scalar) else 0.0,
    )


def record_oracle(view: View) -> Oracle:
    """One that shows hops, or scores that name the leaves."""
    oracle = view.oracles.get(boosting.ROUTING_SERVICE) or view.oracles.get(boosting.SCORE_SERVICE)
    if oracle is None:
        raise MissingFromViewError("the view holds no service that predicts made-up records")
    return oracle


def _ranges(view: View, owners: Sequence[str]) -> FloatArray:
    own = np.asarray(view.table(FEATURES, owners[0]).values, dtype=np.float64)
    parts = [np.column_stack([np.nanmin(own, axis=0), np.nanmax(own, axis=0)])] if own.shape[1] else []
    return np.concatenate([*parts, *(_declared(view, partner) for partner in owners[1:])])


def _declared(view: View, partner: str) -> FloatArray:
    width = view.facts.party(partner).n_features or 0
    if view.facts.of(boosting.BoostingFacts).unit_box:
        return np.tile([0.0, 1.0], (width, 1))
    known = [(column.low, column.high) for column in view.knowledge.columns if column.owner == partner]
    if len(known) != width or any(low is None or high is None for low, high in known):
        raise MissingFromViewError(
            f"records are made within the ranges of {partner}'s columns; declare them as knowledge, or set unit_box"
        )
    return np.array(known, dtype=np.float64).reshape(width, 2)


def _told(answer: Answer, starts: IntArray, records: FloatArray, n_nodes: int) -> BoolArray:
    found = np.zeros((len(records), n_nodes), dtype=bool)
    for message in answer.messages:
        rows, nodes = integers(message.payload, "rows"), integers(message.payload, "nodes")
        place = starts[integers(message.payload, "trees")] + nodes
        found[rows, place] = _directions(message.payload)
    return found


def _directions(payload: Payload) -> BoolArray:
    return numbers(payload, "left").astype(bool)
