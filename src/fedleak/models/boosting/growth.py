"""One tree, grown level by level over several owners of columns.

Whoever holds the gradients chooses splits from sums of integers that the owners' candidates give; whether those sums
came in plaintext or under encryption does not show here. Integers make it exact: the same tree either way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fedleak.core.arrays import BoolArray, FloatArray, IntArray

LEAF = -1


@dataclass(frozen=True, eq=False)
class Gradients:
    """Of every row, in fixed point; rows that are not ``sampled`` count nowhere and are routed all the same."""

    g: IntArray
    h: IntArray
    sampled: BoolArray
    fraction_bits: int

    def sums(self, rows: IntArray) -> Sums:
        taken = rows[self.sampled[rows]]
        return Sums(self.g[taken].sum(keepdims=True), self.h[taken].sum(keepdims=True))

    def n_sampled(self, rows: IntArray) -> int:
        return int(self.sampled[rows].sum())


@dataclass(frozen=True, eq=False)
class Sums:
    """Of gradients and of hessians over the left rows of some candidates."""

    g: IntArray
    h: IntArray

    def __sub__(self, other: Sums) -> Sums:
        return Sums(self.g - other.g, self.h - other.h)


@dataclass(frozen=True)
class Rule:
    """When a node is split, and what a leaf is worth."""

    depth: int
    l2: float
    min_gain: float
    min_child_weight: float
    learning_rate: float
    subtract_siblings: bool = True  # only the smaller child's sums are asked for


@dataclass(frozen=True, eq=False)
class Decision:
    """What there is to decide at a node: the candidates' sums of every owner, and the sums over all its rows."""

    node: int
    rows: IntArray
    offered: tuple[Sums, ...]
    total: Sums
    rule: Rule
    fraction_bits: int

    def gains(self, owner: int) -> FloatArray:
        """GL²/(HL + l2) + GR²/(HR + l2) - G²/(H + l2) (Chen and Guestrin 2016, eq. 7, without the half)."""
        rule, left = self.rule, self.offered[owner]
        right = self.total - left
        unit = 2.0**self.fraction_bits
        parts = [_worth(side.g / unit, side.h / unit, rule.l2) for side in (left, right, self.total)]
        least = rule.min_child_weight * unit
        allowed = (left.h > 0) & (right.h > 0) & (left.h >= least) & (right.h >= least)
        return np.asarray(np.where(allowed, parts[0] + parts[1] - parts[2], -np.inf))


def _worth(g: FloatArray, h: FloatArray, l2: float) -> FloatArray:
    return np.asarray(g * g / np.where(h + l2 > 0, h + l2, np.inf))


@dataclass(frozen=True)
class Choice:
    owner: int  # position among the owners
    candidate: int  # in the order in which the owner lists them


def best_choice(decision: Decision) -> Choice | None:
    """The largest gain; of equal ones the first owner's first. None where no gain is above the least."""
    found, best = None, decision.rule.min_gain
    for owner in range(len(decision.offered)):
        gains = decision.gains(owner)
        if len(gains) and gains.max() > best:
            best, found = float(gains.max()), Choice(owner, int(gains.argmax()))
    return found


class Owner(ABC):
    """Columns at one party, as the holder of the gradients meets them."""

    @abstractmethod
    def announce(self, level: int, rows_of: Mapping[int, IntArray], wanted: Sequence[int]) -> None:
        """The owner is told which rows are in which node, and of which nodes sums are wanted."""

    @abstractmethod
    def sums(self, wanted: Sequence[int]) -> Mapping[int, Sums]:
        """Of each wanted node, over the left rows of every candidate."""

    @abstractmethod
    def route(self, chosen: Mapping[int, int]) -> Mapping[int, BoolArray]:
        """By node, which of its rows go left under the chosen candidate."""


class Chooser(ABC):
    """Who decides: the holder of the gradients."""

    @abstractmethod
    def choose(self, decision: Decision) -> Choice | None: ...

    def check(self, decision: Decision, choice: Choice, left: BoolArray) -> None:  # noqa: B027  (checks nothing)
        """That an owner routes as it said it would."""


class BestGain(Chooser):
    def choose(self, decision: Decision) -> Choice | None:
        return best_choice(decision)


@dataclass(eq=False)
class GrownTree:
    """Nodes by number: the root is 0, children come after their parent. ``owner`` is LEAF at a leaf."""

    left: list[int] = field(default_factory=lambda: [LEAF])
    right: list[int] = field(default_factory=lambda: [LEAF])
    choices: list[Choice | None] = field(default_factory=lambda: [None])
    weight: list[float] = field(default_factory=lambda: [0.0])
    rows_of_leaf: dict[int, IntArray] = field(default_factory=dict)

    def split(self, node: int, choice: Choice) -> tuple[int, int]:
        self.left[node], self.right[node] = len(self.left), len(self.left) + 1
        self.choices[node] = choice
        for _ in range(2):
            self.left.append(LEAF)
            self.right.append(LEAF)
            self.choices.append(None)
            self.weight.append(0.0)
        return self.left[node], self.right[node]


def grow(
    owners: Sequence[Owner], gradients: Gradients, rule: Rule, chooser: Chooser, *, tell_leaves: bool
) -> GrownTree:
    """``tell_leaves``: owners are told of the last level as well, where nothing is split any more."""
    tree = GrownTree()
    level_rows = {0: np.arange(len(gradients.g), dtype=np.int64)}
    known: dict[int, tuple[Sums, ...]] = {}
    families: list[tuple[int, int, int]] = []  # parent, its smaller child, the larger one
    for level in range(rule.depth):
        known = _offers(owners, level, level_rows, known, families if rule.subtract_siblings else [])
        level_rows, families = _split_level(tree, owners, gradients, rule, chooser, level_rows, known)
        if not level_rows:
            break
    if level_rows and tell_leaves:
        for owner in owners:
            owner.announce(rule.depth, level_rows, ())
    for node, rows in level_rows.items():
        _end(tree, node, rows, gradients, rule)
    return tree


def _offers(
    owners: Sequence[Owner],
    level: int,
    rows_of: Mapping[int, IntArray],
    parents: Mapping[int, tuple[Sums, ...]],
    families: Sequence[tuple[int, int, int]],
) -> dict[int, tuple[Sums, ...]]:
    """Every owner's sums of every node of the level: asked for, or the parent's less the sibling's."""
    derived = {larger for _, _, larger in families}
    wanted = [node for node in rows_of if node not in derived]
    for owner in owners:
        owner.announce(level, rows_of, wanted)
    asked = [owner.sums(wanted) for owner in owners]
    found = {node: tuple(sums[node] for sums in asked) for node in wanted}
    for parent, smaller, larger in families:
        pairs = zip(parents[parent], found[smaller], strict=True)
        found[larger] = tuple(whole - part for whole, part in pairs)
    return found


def _split_level(
    tree: GrownTree,
    owners: Sequence[Owner],
    gradients: Gradients,
    rule: Rule,
    chooser: Chooser,
    rows_of: Mapping[int, IntArray],
    offers: Mapping[int, tuple[Sums, ...]],
) -> tuple[dict[int, IntArray], list[tuple[int, int, int]]]:
    """The next level's rows by node, and who is whose sibling there."""
    chosen: dict[int, tuple[Decision, Choice]] = {}
    for node, rows in rows_of.items():
        decision = Decision(node, rows, offers[node], gradients.sums(rows), rule, gradients.fraction_bits)
        choice = chooser.choose(decision)
        if choice is None:
            _end(tree, node, rows, gradients, rule)
        else:
            chosen[node] = decision, choice
    masks: dict[int, BoolArray] = {}
    for number, owner in enumerate(owners):
        masks.update(owner.route({n: choice.candidate for n, (_, choice) in chosen.items() if choice.owner == number}))
    children: dict[int, IntArray] = {}
    families = []
    for node, (decision, choice) in chosen.items():
        chooser.check(decision, choice, masks[node])
        left, right = tree.split(node, choice)
        children[left], children[right] = decision.rows[masks[node]], decision.rows[~masks[node]]
        smaller = min((left, right), key=lambda child: gradients.n_sampled(children[child]))
        families.append((node, smaller, left + right - smaller))
    return children, families


def _end(tree: GrownTree, node: int, rows: IntArray, gradients: Gradients, rule: Rule) -> None:
    total = gradients.sums(rows)
    unit = 2.0**gradients.fraction_bits
    g, h = float(total.g[0]) / unit, float(total.h[0]) / unit
    tree.weight[node] = leaf_weight(g, h, rule)
    tree.rows_of_leaf[node] = rows


def leaf_weight(g: float, h: float, rule: Rule) -> float:
    """-rate G/(H + l2) (Chen and Guestrin 2016, eq. 5)."""
    return -rule.learning_rate * g / (h + rule.l2) if h + rule.l2 > 0 else 0.0
