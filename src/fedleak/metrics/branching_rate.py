"""Correct branching rate of a guess, where the predictions came from a tree or a forest (Luo et al. 2021, VI-A)."""

from __future__ import annotations

import numpy as np

from fedleak.core.arrays import FloatArray, IntArray
from fedleak.core.guess import Guess
from fedleak.core.knowledge import Knowledge
from fedleak.core.score import Better, Score
from fedleak.core.secret import SecretKind, Symmetry
from fedleak.core.truth import SecretValues, Served
from fedleak.metrics.alignment import aligned, answers_of, unknown_cells
from fedleak.metrics.bootstrap import ratio_interval
from fedleak.metrics.branching import branch_counts
from fedleak.metrics.metric import Metric
from fedleak.models import forest, tree
from fedleak.models.forest import ForestModel
from fedleak.models.interpret import interpret
from fedleak.models.tree import TreeModel


class BranchingRate(Metric):
    """At the nodes of the victim's columns on the true paths, how often the guess turns as the truth does.

    The true paths are the same for every attack and for the baseline, so that rates can be compared. A cell without a
    guess, or known beforehand, is given the baseline's value: the column's median.
    """

    name = "branching-rate"
    aliases = ("cbr",)
    summary = "share of tree nodes on the true paths where the guess turns right; baseline: the column's median"
    better = Better.HIGHER
    applies_to = frozenset({SecretKind.FEATURES, SecretKind.RANGES})

    def score(
        self,
        guess: Guess,
        truth: SecretValues,
        knowledge: Knowledge,
        *,
        up_to: frozenset[Symmetry],
        rng: np.random.Generator,
        served: Served | None = None,
    ) -> Score | None:
        if served is None or served.model.kind not in (tree.KIND, forest.KIND):
            return None
        model = interpret(served.model)
        assert isinstance(model, TreeModel | ForestModel)
        nodes = _Nodes(model, served, truth)
        unknown = unknown_cells(guess.secret, truth, knowledge)
        answers = [aligned(cells, truth.values, up_to) for cells in answers_of(guess, truth)]
        counted = [nodes.counts(np.where(unknown & np.isfinite(cells), cells, nodes.medians)) for cells in answers]
        correct = np.mean([right for right, _ in counted], axis=0)
        compared = counted[0][1].astype(np.float64)
        if not compared.sum():
            return None
        baseline, _ = nodes.counts(np.broadcast_to(nodes.medians, truth.values.shape))
        rows = compared > 0
        return Score(
            self.name,
            float(correct.sum() / compared.sum()),
            float(baseline.sum() / compared.sum()),
            self.better,
            ratio_interval(correct[rows], compared[rows], rng),
            int(compared.sum()),
        )


class _Nodes:
    """The nodes of the victim's columns that the true rows pass."""

    def __init__(self, model: TreeModel | ForestModel, served: Served, truth: SecretValues) -> None:
        self._model = model
        self._target = model.positions(truth.columns)
        place = {int(row): index for index, row in enumerate(served.inputs.ids)}
        self._rows = np.array(served.inputs.values, dtype=np.float64)[[place[int(row)] for row in truth.ids]]
        self._rows[:, self._target] = truth.values  # the victim's own, also where it kept a column out
        self.medians = np.median(truth.values, axis=0)

    def counts(self, cells: FloatArray) -> tuple[IntArray, IntArray]:
        guessed = self._rows.copy()
        guessed[:, self._target] = cells
        return branch_counts(self._model, self._rows, guessed, self._target)
