"""XGBoost's messages as steps of ours: which split wins a node, whose it is, and which rows are in which node.

The sums that the winner announced must be those of the rows that went left: a recording that was decoded wrongly, or
that is of another version, does not pass for one that was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fedleak.core.arrays import AnyArray, IntArray
from fedleak.core.errors import FileFormatError
from fedleak.core.transcript import EVERYONE, SETUP_ROUND
from fedleak.frameworks.xgboost.xgboost_wire import (
    Event,
    FirstScore,
    LevelOffers,
    LevelRouting,
    Offer,
    RowGradients,
)
from fedleak.recorder import Recorder

LEAST_GAIN = 1e-6  # kRtEps of XGBoost: a split must gain more
SLACK = 1e-3  # of sums in single precision, over their size


class TreeRecording:
    """Takes events in order and records the steps that they are. ``names`` and ``widths`` are by rank."""

    def __init__(self, recorder: Recorder, names: Sequence[str], widths: Sequence[int], ids: IntArray) -> None:
        self._recorder, self._names, self._ids = recorder, names, ids
        self._offsets = np.cumsum([0, *widths])[:-1]
        self._gradients: RowGradients | None = None
        self._tree = -1
        self._trees_before = 0  # of earlier rounds
        self._rows_of: dict[int, IntArray] = {}
        self._n_nodes = 1
        self._waiting: LevelOffers | None = None

    def take(self, events: Iterable[Event]) -> int:
        """The number of trees."""
        for event in events:
            if isinstance(event, FirstScore):
                self._recorder.message("setup.first-score", self._names[0], EVERYONE, event.value, round=SETUP_ROUND)
            elif isinstance(event, RowGradients):
                self._gradients, self._trees_before = event, self._tree + 1
            elif isinstance(event, LevelOffers):
                self._level(event)
            else:
                self._route(event)
        if self._tree < 0:
            raise FileFormatError("a recording must hold the splits of a tree at least; it holds none")
        return self._tree + 1

    def _level(self, level: LevelOffers) -> None:
        if level.depth == 0:
            self._start_tree()
        self._waiting = level
        unknown = {offer.node for offer in level.offers} - set(self._rows_of)
        if unknown:
            raise FileFormatError(f"a split must be of a node that there is; got node {min(unknown)}")
        for rank, name in enumerate(self._names):
            own = [offer for offer in level.offers if offer.rank == rank and offer.gain > 0]
            told = {
                "nodes": np.array([offer.node for offer in own], dtype=np.int64),
                "columns": np.array([offer.column - self._offsets[rank] for offer in own], dtype=np.int64),
                "thresholds": np.array([offer.threshold for offer in own], dtype=np.float32),
                "gains": np.array([offer.gain for offer in own], dtype=np.float32),
            }
            self._recorder.message("train.split-candidates", name, EVERYONE, told, round=self._tree)

    def _start_tree(self) -> None:
        if self._gradients is None:
            raise FileFormatError("the gradients of a tree must come before its splits; they do not")
        self._tree += 1
        score = self._tree - self._trees_before
        if score >= self._gradients.g.shape[1]:
            raise FileFormatError("a round must have a tree a class; got more")
        self._rows_of, self._n_nodes = {0: np.arange(len(self._ids))}, 1
        holder = self._names[0]
        self._recorder.message("train.tree", holder, EVERYONE, {"score": score, "alone": False}, round=self._tree)
        told = {"rows": self._ids, "g": self._gradients.g[:, score].copy(), "h": self._gradients.h[:, score].copy()}
        self._recorder.message("train.sample-gradients", holder, EVERYONE, told, round=self._tree)

    def _route(self, routing: LevelRouting) -> None:
        if self._waiting is None:
            raise FileFormatError("the way of rows must follow the splits of a level; it does not")
        chosen = winners(self._waiting.offers)
        for rank, name in enumerate(self._names):
            self._send_routing(name, [offer for offer in chosen if offer.rank == rank], routing)
        children: dict[int, IntArray] = {}
        for offer in chosen:
            rows = self._rows_of[offer.node]
            left = np.where(routing.missing[rows], offer.missing_left, routing.left[rows])
            self._check_sums(offer, rows[left])
            children[self._n_nodes], children[self._n_nodes + 1] = rows[left], rows[~left]
            self._n_nodes += 2
        self._rows_of, self._waiting = children, None

    def _send_routing(self, name: str, own: Sequence[Offer], routing: LevelRouting) -> None:
        """Rows whose cell is there: where one is missing, everybody sees that as well."""
        if not own:
            return
        parts = [self._rows_of[offer.node] for offer in own]
        present = [rows[~routing.missing[rows]] for rows in parts]
        rows = np.concatenate(present)
        told: dict[str, AnyArray] = {
            "rows": self._ids[rows],
            "nodes": np.repeat([offer.node for offer in own], [len(part) for part in present]).astype(np.int64),
            "left": routing.left[rows],
        }
        self._recorder.message("train.routing", name, EVERYONE, told, round=self._tree)

    def _check_sums(self, offer: Offer, rows: IntArray) -> None:
        assert self._gradients is not None
        score = self._tree - self._trees_before
        for announced, values in zip(offer.left, (self._gradients.g, self._gradients.h), strict=True):
            routed = values[rows, score].astype(np.float64)
            if abs(routed.sum() - announced) > SLACK * (1.0 + np.abs(routed).sum()):
                raise FileFormatError(
                    f"the rows that go left at node {offer.node} of tree {self._tree} must have the sums that were "
                    "announced; they have others. The recording is of another version, or incomplete"
                )


def winners(offers: Sequence[Offer]) -> list[Offer]:
    """The best of each node, in the order in which nodes are split; of equal gains the column that comes first."""
    found: dict[int, Offer] = {}
    for offer in sorted(offers, key=lambda one: (one.node, -one.gain, one.column)):
        if offer.gain > LEAST_GAIN:
            found.setdefault(offer.node, offer)
    return list(found.values())
