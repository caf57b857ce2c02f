"""A partner's split points, and intervals of its cells, where every party tells its best split of each node.

Of each node a party offers one split, so that the owner of the routing and the node name the threshold. A row on the
left is at most the threshold, one on the right at least: intersected over all trees that brackets a cell. Cells are
rounded to the precision in which thresholds are sent before they are compared with them, so that a bracket is wider by
one step of that precision at either end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedleak.attacks.boosting.label_holder_sums import integers, numbers
from fedleak.attacks.boosting.routing_intervals import Bracket, NodeOfTree, RoutedRows, intervals_by_routing
from fedleak.attacks.verdicts import from_assessment, nothing
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.protocols.boosting import vocabulary as boosting
from fedleak.theory.boosted_trees import OpenSplits
from fedleak.theory.condition import State

TOLD = "the owner of every node told its split point"
REQUIRES = frozenset({Capability.SPLIT_POINTS, Capability.NODE_ROUTING})


@dataclass(frozen=True, eq=False)
class Splits:
    """Of one party: the split points of the nodes where it routed rows, and how; and how many it offered in all."""

    ids: IntArray  # of all rows that it routed
    brackets: Mapping[NodeOfTree, Bracket]
    thresholds: Mapping[NodeOfTree, float]
    routed: Mapping[NodeOfTree, RoutedRows]
    n_offered: int


def splits_of(view: View, party: str) -> Splits:
    offered: dict[NodeOfTree, tuple[int, float, float]] = {}
    for message in view.at(boosting.SPLIT_CANDIDATES):
        if message.sender == party:
            thresholds = numbers(message.payload, "thresholds")
            parts = (integers(message.payload, "nodes"), integers(message.payload, "columns"), thresholds)
            steps = np.spacing(np.abs(thresholds)).astype(np.float64)
            for node, column, threshold, step in zip(*parts, steps, strict=True):
                offered[message.round, int(node)] = int(column), float(threshold), float(step)
    sent = [message for message in view.at(boosting.ROUTING) if message.sender == party]
    ids = np.unique(np.concatenate([np.zeros(0, np.int64), *(integers(m.payload, "rows") for m in sent)]))
    routed: dict[NodeOfTree, RoutedRows] = {}
    for message in sent:
        nodes, left = integers(message.payload, "nodes"), numbers(message.payload, "left").astype(bool)
        places = np.searchsorted(ids, integers(message.payload, "rows"))
        for node in np.unique(nodes).tolist():
            routed[message.round, node] = RoutedRows(places[nodes == node], left[nodes == node])
    won = {node: offered[node] for node in routed if node in offered}
    return Splits(
        ids,
        {node: (column, value - step, value + step) for node, (column, value, step) in won.items()},
        {node: value for node, (_, value, _) in won.items()},
        routed,
        len(offered),
    )


class OfferedThresholds(Attack):
    name = "offered-thresholds"
    summary = "reads a partner's split points off the splits that it offers in plaintext"
    reference = Reference("fedleak", "docs/attacks/offered-thresholds.md")
    requires = REQUIRES
    produces = SecretKind.THRESHOLDS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = splits_of(view, view.target.owner)
        if not found.thresholds:
            return nothing(view, "no split is the partner's", {}, width=1, status=Status.UNDETERMINED)
        return Guess(
            view.target,
            Status.RECOVERED,
            np.array(list(found.thresholds), dtype=np.int64).reshape(-1, 2),
            np.array(list(found.thresholds.values()))[:, None],
            evidence={"nodes": len(found.thresholds), "offered in all": found.n_offered},
            why=f"{len(found.thresholds)} split points of {found.n_offered} that were offered",
            certificate=TOLD,
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return from_assessment(OpenSplits.assess(facts))


class OfferedIntervals(Attack):
    name = "offered-intervals"
    summary = "bounds a partner's training cells by the split points that it tells and the way that rows were sent"
    reference = Reference("fedleak", "docs/attacks/offered-intervals.md")
    requires = REQUIRES
    produces = SecretKind.RANGES
    measured_by = "interval-score"

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        found = splits_of(view, view.target.owner)
        if not found.brackets:
            width = view.facts.party(view.target.owner).n_features or 1
            return nothing(view, "no split is the partner's", {}, width=width, status=Status.UNDETERMINED)
        ranges = _ranges(view, max(column for column, _, _ in found.brackets.values()))
        intervals = intervals_by_routing(ranges, len(found.ids), found.routed, found.brackets)
        told = np.isfinite(intervals).all(axis=2)
        middle = np.where(told, np.where(np.isfinite(intervals), intervals, 0.0).mean(axis=2), np.nan)
        evidence = {
            "nodes": len(found.brackets),
            "cells bounded on both sides": float(told.mean()),
            "cells bounded on one side": float(np.isfinite(intervals).any(axis=2).mean() - told.mean()),
        }
        why = f"{evidence['cells bounded on both sides']:.0%} of cells are bounded on both sides"
        return Guess(view.target, Status.PARTIAL, found.ids, middle, intervals=intervals, evidence=evidence, why=why)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        assessment = OpenSplits.assess(facts)
        if assessment.state is not State.HOLDS:
            return from_assessment(assessment)
        return Prediction(Verdict.PARTIAL, ("every split that a row passes bounds one of its cells",))


def _ranges(view: View, last: int) -> FloatArray:
    """Of the partner's columns; open where nothing is declared."""
    owner = view.target.owner
    width = view.facts.party(owner).n_features or last + 1
    if view.facts.of(boosting.BoostingFacts).unit_box:
        return np.tile([0.0, 1.0], (width, 1))
    known = [(column.low, column.high) for column in view.knowledge.columns if column.owner == owner]
    if len(known) != width:
        return np.tile([-np.inf, np.inf], (width, 1))
    return np.array([(-np.inf if a is None else a, np.inf if b is None else b) for a, b in known], dtype=np.float64)
