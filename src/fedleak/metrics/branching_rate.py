"""Correct branching rate of a guess, where the predictions came from a tree or a forest (Luo et al. 2021, VI-A).

At how many nodes of the victim's columns the guess takes the true branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedleak.core.adversary import SecretKind
from fedleak.core.arrays import FloatArray, IntArray, positions_of
from fedleak.core.finding import Better, Score
from fedleak.core.whole.truth import SecretValues, Served
from fedleak.metrics.metric import Answered, Metric, ratio_interval, unless_alike
from fedleak.models import tree_models
from fedleak.models.interpret import interpret
from fedleak.models.tree_models import ForestModel, TreeModel


class BranchingRate(Metric):
    """At the nodes of the victim's columns on the true paths, how often the guess turns as the truth does.

    The true paths are the same for every attack and for the baseline, so that rates can be compared. A cell without a
    guess, or known beforehand, is given the value of the best blind answer.
    """

    name = "branching-rate"
    aliases = ("cbr",)
    summary = "share of tree nodes on the true paths where the guess turns right; baseline: the best blind answer"
    better = Better.HIGHER
    applies_to = frozenset({SecretKind.FEATURES, SecretKind.RANGES})

    def score(self, answered: Answered, *, rng: np.random.Generator) -> Score | None:
        truth, served = answered.truth, answered.served
        if served is None or not truth.is_table:
            return None
        if served.model.kind not in (tree_models.TREE_KIND, tree_models.FOREST_KIND):
            return None
        model = interpret(served.model)
        assert isinstance(model, TreeModel | ForestModel)
        nodes = _Nodes(model, served, truth)
        blind = nodes.best(answered)
        counted = [
            nodes.counts(np.where(answered.unknown & np.isfinite(cells), cells, blind)) for cells in answered.answers
        ]
        correct = np.mean([right for right, _ in counted], axis=0)
        compared = counted[0][1].astype(np.float64)
        if not compared.sum():
            return None
        baseline, _ = nodes.counts(blind)
        rows, n = compared > 0, int(compared.sum())
        resampled = ratio_interval(correct[rows], compared[rows], rng)
        interval = unless_alike(resampled, float(correct.sum()), n)
        return Score(self.name, float(correct.sum() / n), float(baseline.sum() / n), self.better, interval, n)


class _Nodes:
    """The nodes of the victim's columns that the true rows pass."""

    def __init__(self, model: TreeModel | ForestModel, served: Served, truth: SecretValues) -> None:
        self._model = model
        self._target = model.positions(truth.columns)
        place = positions_of(served.inputs.ids)
        self._rows = np.array(served.inputs.values, dtype=np.float64)[[place[int(row)] for row in truth.ids]]
        self._rows[:, self._target] = truth.values  # the victim's own, also where it kept a column out

    def best(self, answered: Answered) -> FloatArray:
        """The blind answer that takes the most true branches."""
        tables = [np.broadcast_to(blind.cells, answered.truth.values.shape) for blind in answered.blinds]
        return max(tables, key=lambda cells: int(self.counts(cells)[0].sum()))

    def counts(self, cells: FloatArray) -> tuple[IntArray, IntArray]:
        guessed = self._rows.copy()
        guessed[:, self._target] = cells
        return branch_counts(self._model, self._rows, guessed, self._target)


@dataclass(frozen=True)
class Branching:
    """Counts are pooled over rows, trees and trials; only nodes of the target's columns count."""

    n_correct: int
    n_compared: int

    @property
    def rate(self) -> float | None:
        """None where no node was compared: such a trial has no rate, and is not a zero."""
        return self.n_correct / self.n_compared if self.n_compared else None

    def __add__(self, other: Branching) -> Branching:
        return Branching(self.n_correct + other.n_correct, self.n_compared + other.n_compared)


def branching(
    model: TreeModel | ForestModel, along: FloatArray, against: FloatArray, target: Sequence[int] | IntArray
) -> Branching:
    """Follow each row of ``along`` down every tree; at nodes of target columns compare its turn with ``against``'s.

    For path restriction ``along`` is the guess (its chosen path), for a guess of values on a forest it is the truth.
    """
    correct, compared = branch_counts(model, along, against, target)
    return Branching(int(correct.sum()), int(compared.sum()))


def branch_counts(
    model: TreeModel | ForestModel, along: FloatArray, against: FloatArray, target: Sequence[int] | IntArray
) -> tuple[IntArray, IntArray]:
    """For each row: the turns that agree, and those that were compared."""
    trees = model.trees if isinstance(model, ForestModel) else (model,)
    is_target = np.zeros(len(model.columns), dtype=bool)
    is_target[np.asarray(target, dtype=np.int64)] = True
    correct, compared = np.zeros(len(along), dtype=np.int64), np.zeros(len(along), dtype=np.int64)
    for single in trees:
        _add_tree(single, along, against, is_target, correct, compared)
    return correct, compared


def _add_tree(
    tree: TreeModel,
    along: FloatArray,
    against: FloatArray,
    is_target: np.ndarray,
    correct: IntArray,
    compared: IntArray,
) -> None:
    at = np.zeros(len(along), dtype=np.int64)
    everyone = np.arange(len(along))
    for _ in range(tree.depth):
        inner = ~tree.is_leaf[at]
        feature, threshold = tree.feature[at], tree.threshold[at]
        turn = along[everyone, feature] <= threshold
        counts = inner & is_target[feature]
        compared += counts
        correct += counts & (turn == (against[everyone, feature] <= threshold))
        at = np.where(inner, np.where(turn, tree.left[at], tree.right[at]), at)
