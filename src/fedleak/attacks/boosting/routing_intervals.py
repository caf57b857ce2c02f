"""Intervals of training cells from split points and routing (Li et al. 2021, section 5.1).

At every node of a partner the label holder sees which training rows went left. Once the node's threshold is known to
lie in a bracket, a row on the left is at most its upper end, one on the right at least its lower end. Where cells are
placed in bins as well, the thresholds of the cuts on either side of the bin bound them too: cuts of nodes are known by
their place in the column, and bins count cuts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fedleak.attacks.boosting.bin_counts import BUDGETS
from fedleak.attacks.boosting.column_readings import ColumnOrder
from fedleak.attacks.boosting.histogram_decoding import PlacedColumn, placed_column
from fedleak.attacks.boosting.label_holder_sums import TreeOfPartner, trees_of_partner
from fedleak.attacks.boosting.service_questions import Questions, questions, record_oracle
from fedleak.attacks.boosting.threshold_search import ThresholdSearch
from fedleak.attacks.verdicts import from_assessment
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.theory.boosted_trees import ThresholdQuestions
from fedleak.theory.condition import State

NodeOfTree = tuple[int, int]  # a tree, and the node's number in it
Bracket = tuple[int, float, float]  # a partner's column, the least and the most that the threshold can be


class RoutedRows(NamedTuple):
    """Rows of one node by their place in the table, and which of them go left."""

    rows: IntArray
    left: BoolArray


def intervals_by_routing(
    ranges: FloatArray, n_rows: int, routed: Mapping[NodeOfTree, RoutedRows], brackets: Mapping[NodeOfTree, Bracket]
) -> FloatArray:
    """(rows, columns, 2), within the columns' ranges."""
    found = np.repeat(ranges[None], n_rows, axis=0)
    for place, (column, low, high) in brackets.items():
        if place not in routed:
            continue
        rows, left = routed[place]
        found[rows[left], column, 1] = np.minimum(found[rows[left], column, 1], high)
        found[rows[~left], column, 0] = np.maximum(found[rows[~left], column, 0], low)
    return found


def routed_in(trees: Mapping[int, TreeOfPartner]) -> dict[NodeOfTree, RoutedRows]:
    return {
        (number, node): RoutedRows(tree.rows_of[node], left)
        for number, tree in trees.items()
        for node, (_, left) in tree.won.items()
    }


def narrowed_by_bins(
    intervals: FloatArray,
    placed: Sequence[PlacedColumn],
    trees: Mapping[int, TreeOfPartner],
    brackets: Mapping[NodeOfTree, Bracket],
) -> FloatArray:
    """A cell in bin b is above the threshold of every cut before b, and at most that of every cut from b on."""
    found = intervals.copy()
    place = {number: position for position, number in enumerate(trees)}
    for (number, node), (column, low, high) in brackets.items():
        reading = placed[column].reading
        order = reading[place[number]] if reading and number in place else None
        cut = None if order is None else _cut(order, trees[number], node)
        if cut is None:
            continue
        bins = placed[column].bins
        above, below = bins > cut, (bins <= cut) & (bins >= 0)
        found[above, column, 0] = np.maximum(found[above, column, 0], low)
        found[below, column, 1] = np.minimum(found[below, column, 1], high)
    return found


def _cut(order: ColumnOrder, tree: TreeOfPartner, node: int) -> int | None:
    """Which of the column's cuts the node makes; None where its place is not certain or missing cells go with it."""
    if node not in tree.won:
        return None
    places = np.flatnonzero((order.cuts == tree.won[node][0]) & order.apart)
    return int(places[0]) if len(places) else None


@dataclass(frozen=True)
class RoutingIntervals(Attack):
    name = "routing-intervals"
    summary = "bounds a partner's training cells by the split points that it finds and the way that rows were sent"
    reference = Reference("li2021", "section 5.1")
    requires = frozenset({Capability.ENROLLED_RECORDS, Capability.NODE_ROUTING, Capability.LABELS})
    produces = SecretKind.RANGES
    measured_by = "interval-score"

    epsilon: float = 1e-4  # of the widest range, for the split points
    with_bins: bool = True  # place cells by the sums as well
    budgets: tuple[int, ...] = BUDGETS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        known = questions(view)
        ids, trees = trees_of_partner(view, view.target.owner)
        brackets = self._brackets(view, known, rng)
        columns = known.columns_of(view.target.owner)
        by_routing = intervals_by_routing(known.ranges[columns], len(ids), routed_in(trees), brackets)
        intervals, n_placed = by_routing, 0
        if self.with_bins:
            placed = [placed_column(len(ids), list(trees.values()), c, self.budgets) for c in range(len(columns))]
            intervals = narrowed_by_bins(by_routing, placed, trees, brackets)
            n_placed = sum(int(np.isfinite(column.bins).sum()) for column in placed)
        return _answer(view, ids, known.ranges[columns], by_routing, intervals, n_placed)

    def _brackets(self, view: View, known: Questions, rng: np.random.Generator) -> dict[NodeOfTree, Bracket]:
        found = ThresholdSearch(epsilon=self.epsilon).search(known, record_oracle(view), rng).brackets
        offset = int(known.columns_of(view.target.owner)[0])
        nodes = known.shapes.unknown[known.nodes_of(view.target.owner)]
        names = known.ids_of(nodes).tolist()
        return {
            (tree, number): (found.feature_of(node) - offset, *found.told(node))
            for node, (tree, number) in zip(nodes.tolist(), names, strict=True)
            if found.feature_of(node) >= 0
        }

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        assessment = ThresholdQuestions.assess(facts)
        if assessment.state is State.FAILS:
            return from_assessment(assessment)
        return Prediction(Verdict.PARTIAL, ("every split that a row passes bounds one of its cells",))


def _answer(
    view: View, ids: IntArray, ranges: FloatArray, by_routing: FloatArray, intervals: FloatArray, n_placed: int
) -> Guess:
    spans = np.maximum(np.ptp(ranges, axis=1), 1e-300)
    evidence = {
        "mean width by routing alone": float((np.ptp(by_routing, axis=2) / spans).mean()),
        "mean width": float((np.ptp(intervals, axis=2) / spans).mean()),
        "cells placed in bins": n_placed,
    }
    why = f"cells are bounded to {evidence['mean width']:.2f} of their range on average"
    middle = intervals.mean(axis=2)
    return Guess(view.target, Status.PARTIAL, ids, middle, intervals=intervals, evidence=evidence, why=why)
