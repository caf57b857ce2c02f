"""Path restriction on a random forest: the votes constrain which paths the trees can have taken together.

The paper holds this for infeasible (there may be C(100, 40) combinations) and turns to a network instead. The counts of
the votes, the adversary's own columns and the shared thresholds still rule leaves out, without listing combinations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.predictions import PredictionCase, read_case
from fedleak.attacks.ranges.forest_consistency import ForestPaths, forest_paths, propagate
from fedleak.core.arrays import BoolArray
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.capability import Capability
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.models.forest import ForestModel
from fedleak.models.tree import TreeOutput


@dataclass(frozen=True)
class ForestPathRestriction(Attack):
    """``row_budget`` bounds the work: rows beyond it keep the whole range."""

    name = "forest-path-restriction"
    aliases = ("forest-pra",)
    summary = "bounds the victim's values by the leaves that own features and the forest's vote counts leave"
    reference = Reference("fedleak", "from luo2021, section V-B")
    requires = frozenset({Capability.OWN_FEATURES, Capability.FOREST_MODEL, Capability.PREDICTIONS})
    produces = SecretKind.RANGES
    measured_by = "interval-score"

    row_budget: int = 5000

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        forest = case.model
        if not isinstance(forest, ForestModel) or forest.output is not TreeOutput.ONE_HOT:
            raise MissingFromViewError("forest path restriction needs a forest whose confidences are vote fractions")
        case.require_box()
        paths = forest_paths(forest, case.unknown_positions)
        open_leaves = _allowed_by_own(case, paths)
        intervals = np.empty((len(case.ids), case.n_unknown, 2))
        intervals[:] = (0.0, 1.0)
        n_left = 0
        exact = _counts_votes(case, paths.n_trees)
        for row in range(min(len(case.ids), self.row_budget) if exact else 0):
            votes = np.rint(case.confidences[row] * paths.n_trees).astype(np.int64)
            intervals[row], left = propagate(paths, open_leaves[row], votes)
            n_left += int(left.sum())
        return self._guess(view, case, intervals, open_leaves, n_left if exact else None)

    def _guess(
        self,
        view: View,
        case: PredictionCase,
        intervals: np.ndarray,
        open_leaves: BoolArray,
        n_left: int | None,  # None: the votes cannot be told
    ) -> Guess:
        n_done = min(len(case.ids), self.row_budget)
        width = float((intervals[:, :, 1] - intervals[:, :, 0]).mean()) if intervals.size else 1.0
        evidence = {
            "rows examined": n_done,
            "leaves a row that own columns leave": float(open_leaves.sum(axis=1).mean()) if len(case.ids) else 0.0,
            "leaves a row that the votes leave": None if n_left is None else n_left / max(n_done, 1),
            "mean width of an interval": width,
        }
        status = Status.UNDETERMINED if n_left is None else Status.PARTIAL
        why = f"vote counts and own columns narrow the victim's columns to {width:.3f} of their ranges on average"
        return case.guess(view, status, intervals.mean(axis=2), why=why, evidence=evidence, intervals=intervals)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        model = facts.options.get("model")
        if model not in (None, "forest"):
            return Prediction(Verdict.IMPOSSIBLE, (f"the model is of kind {model}, not a forest",))
        return Prediction(Verdict.PARTIAL, ("vote counts rule leaves out; how many, no theorem says",))


def _counts_votes(case: PredictionCase, n_trees: int) -> bool:
    """Whether the confidences tell the votes: not a label alone, not noise, and rounding only if finer than a vote."""
    release = case.release
    return not release.top_label and release.noise == 0 and release.unit * n_trees < 0.5


def _allowed_by_own(case: PredictionCase, paths: ForestPaths) -> BoolArray:
    return np.hstack([tree.matching(case.own, case.own_positions) for tree in paths.own])
