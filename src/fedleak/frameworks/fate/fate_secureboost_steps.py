"""What FATE's SecureBoost pushes, as steps of ours where the meaning is the same; the rest keeps its name.

A tree is a round. new_sample_pos has every row's next node, and -1 less its number where that is a leaf: the members
of nodes, which our protocol tells level by level. updated_data has the same of the rows at the host's nodes, for the
guest: which way they go. hist has sums under encryption for candidates in an order that is drawn anew in every tree,
so that columns are hidden; how many rows each has on its left stands beside them in plaintext.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedleak.core.arrays import IntArray
from fedleak.core.errors import FileFormatError
from fedleak.core.transcript import SETUP_ROUND
from fedleak.frameworks.fate.fate_steps import OWN_PREFIX, Pushed
from fedleak.recorder import Recorder

NOWHERE = -1
HIDDEN = -1  # in place of a candidate's column
READ = ("en_kit", "en_gh", "pack_info", "hist", "sync_nodes", "updated_data", "new_sample_pos")
PACKED_BITS = "split_point_shift_bit"


@dataclass(eq=False)
class _Tree:
    """Where every row is, while a tree grows."""

    number: int
    node_of: IntArray
    left_of: dict[int, int] = field(default_factory=dict)
    level: int = 0


class SecureBoostRecording:
    """Takes messages in order. ``ids`` in the order in which FATE keeps rows."""

    def __init__(self, recorder: Recorder, holder: str, partner: str, ids: IntArray) -> None:
        self._recorder, self._holder, self._partner, self._ids = recorder, holder, partner, ids
        self._tree: _Tree | None = None
        self._sent: dict[str, Any] = {}  # gradients, until it is told how they are packed

    def take(self, pushed: Sequence[Pushed]) -> int:
        """The number of trees."""
        n_scores = next((int(str(one.value)) for one in pushed if one.name == "tree_dim"), 1)
        for one in sorted(pushed, key=lambda one: one.at):
            number, score = tree_of(one.tag, n_scores)
            self._own(one, number)
            if one.name == "en_kit" and number == 0:
                self._told("setup.gradient-key", self._holder, one.value, SETUP_ROUND)
            elif one.name == "en_gh":
                self._begin(one, number, score)
            elif one.name in READ:
                self._of_tree(one)
        if self._tree is None:
            raise FileFormatError("the recording must hold at least one tree of FATE's training; it holds none")
        return self._tree.number + 1

    def _own(self, one: Pushed, number: int) -> None:
        """What has no step of ours, and what a step of ours leaves out."""
        if one.name not in READ or one.name == "sync_nodes":
            round_number = SETUP_ROUND if number == NOWHERE and self._tree is None else max(number, 0)
            if number == NOWHERE and self._tree is not None:
                round_number = self._tree.number
            self._told(OWN_PREFIX + one.name, one.sender, one.value, round_number)

    def _begin(self, one: Pushed, number: int, score: int) -> None:
        expected = 0 if self._tree is None else self._tree.number + 1
        if number != expected:
            raise FileFormatError(f"the recording must hold every tree in turn; tree {expected} is not there")
        self._tree = _Tree(number, np.zeros(len(self._ids), dtype=np.int64))
        self._told("train.tree", self._holder, {"score": score, "alone": False}, number)
        self._sent = dict(_fields(one))

    def _of_tree(self, one: Pushed) -> None:
        tree = self._tree
        if tree is None:
            raise FileFormatError(f"gradients must come before {one.name}; they do not")
        told = _fields(one)
        if one.name == "pack_info":
            bits = {"slot_bits": int(told.get(PACKED_BITS, 0))}
            self._told("train.encrypted-gradients", self._holder, {**self._sent, **bits}, tree.number)
        elif one.name == "hist":
            self._sums(tree, np.asarray(told["counts"], dtype=np.int64))
        elif one.name == "sync_nodes":
            self._choices(tree, told)
        elif one.name == "updated_data":
            self._routing(tree, told)
        elif one.name == "new_sample_pos":
            self._members(tree, told)

    def _sums(self, tree: _Tree, counts: IntArray) -> None:
        if tree.level == 0:
            self._told("train.candidates", self._partner, np.full(counts.shape[1], HIDDEN), tree.number)
        nodes = np.unique(tree.node_of[tree.node_of >= 0])
        told = {"level": tree.level, "nodes": nodes, "counts": counts}
        self._told("train.candidate-sums", self._partner, told, tree.number)

    def _choices(self, tree: _Tree, told: Mapping[str, Any]) -> None:
        nodes, owners, inner = np.asarray(told["nodes"]), np.asarray(told["at_host"]), ~np.asarray(told["leaf"])
        tree.left_of |= dict(zip(nodes[inner].tolist(), np.asarray(told["left"])[inner].tolist(), strict=True))
        won = inner & owners
        if won.any():
            chosen = {"nodes": nodes[won], "candidates": np.asarray(told["candidates"])[won]}
            self._told("train.chosen-split", self._holder, chosen, tree.number)

    def _routing(self, tree: _Tree, told: Mapping[str, Any]) -> None:
        here = np.asarray(told["here"], dtype=bool)
        if not here.any():
            return
        rows = self._positions(told["rows"])[here]
        nodes = tree.node_of[rows]
        lefts = np.array([tree.left_of.get(int(node), NOWHERE) for node in nodes])
        routed = {"rows": self._ids[rows], "nodes": nodes, "left": np.asarray(told["next"])[here] == lefts}
        self._told("train.routing", self._partner, routed, tree.number)

    def _members(self, tree: _Tree, told: Mapping[str, Any]) -> None:
        rows, following = self._positions(told["rows"]), np.asarray(told["next"], dtype=np.int64)
        nodes = np.where(following < 0, -(following + 1), following)
        tree.level += 1
        tree.node_of = np.full(len(self._ids), NOWHERE, dtype=np.int64)
        tree.node_of[rows[following >= 0]] = following[following >= 0]
        members = {"level": tree.level, "rows": self._ids[rows], "nodes": nodes, "wanted": np.unique(nodes)}
        self._told("train.node-rows", self._holder, members, tree.number)

    def _positions(self, rows: Any) -> IntArray:
        return np.searchsorted(self._ids, np.asarray(rows, dtype=np.int64))

    def _told(self, step: str, sender: str, value: Any, number: int) -> None:
        receiver = self._partner if sender == self._holder else self._holder
        self._recorder.message(step, sender, receiver, value, round=number)


def own_steps_of(pushed: Sequence[Pushed]) -> tuple[str, ...]:
    return tuple(sorted({OWN_PREFIX + one.name for one in pushed if one.name not in READ or one.name == "sync_nodes"}))


def tree_of(tag: str, n_scores: int) -> tuple[int, int]:
    """Its number and which score it adds to, by FATE's place in the training: iteration, score, level."""
    places = [int(found) for found in re.findall(r"iterations-(\d+)", tag)]
    return (places[0] * n_scores + places[1], places[1]) if len(places) > 1 else (NOWHERE, 0)


def _fields(one: Pushed) -> Mapping[str, Any]:
    if not isinstance(one.value, Mapping):
        raise FileFormatError(f"{one.name} must be read into its parts; got {type(one.value).__name__}")
    return one.value
