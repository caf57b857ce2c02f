"""Path restriction on a random forest: the votes constrain which paths the trees can have taken together.

The paper holds this for infeasible (there may be C(100, 40) combinations) and turns to a network instead. Intervals do
it without listing combinations. A tree's vote is 0 or 1 for a class, and own features leave some leaves of each tree.
If, for a class, the trees that can vote for it are exactly as many as its votes, each of them did; if those that must
vote for it are already as many, no other did. What a tree must have done bounds the columns, which removes leaves of
other trees, until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.predictions.prediction_case import PredictionCase, read_case
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.inversion.tree_paths import TreePaths, tree_paths
from fedleak.models.tree_models import ForestModel, TreeOutput
from fedleak.protocols.prediction.vocabulary import PredictionFacts


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
        model = facts.of(PredictionFacts).model
        if model not in (None, "forest"):
            return Prediction(Verdict.IMPOSSIBLE, (f"the model is of kind {model}, not a forest",))
        return Prediction(Verdict.PARTIAL, ("vote counts rule leaves out; how many, no theorem says",))


def _counts_votes(case: PredictionCase, n_trees: int) -> bool:
    """Whether the confidences tell the votes: not a label alone, not noise, and rounding only if finer than a vote."""
    release = case.release
    return not release.top_label and release.noise == 0 and release.unit * n_trees < 0.5


def _allowed_by_own(case: PredictionCase, paths: ForestPaths) -> BoolArray:
    return np.hstack([tree.matching(case.own, case.own_positions) for tree in paths.own])


MAX_SWEEPS = 10


@dataclass(frozen=True, eq=False)
class ForestPaths:
    """All leaves of all trees: the tree of each, its box over the unknown columns, and its class."""

    tree: IntArray  # (leaves,)
    low: FloatArray  # (leaves, unknowns)
    high: FloatArray
    label: IntArray  # (leaves,)
    n_trees: int
    own: tuple[TreePaths, ...]


def forest_paths(forest: ForestModel, unknown: IntArray) -> ForestPaths:
    each = tuple(tree_paths(tree) for tree in forest.trees)
    return ForestPaths(
        np.concatenate([np.full(len(paths.leaves), number) for number, paths in enumerate(each)]),
        np.clip(np.concatenate([paths.low[:, unknown] for paths in each]), 0.0, 1.0),
        np.clip(np.concatenate([paths.high[:, unknown] for paths in each]), 0.0, 1.0),
        np.concatenate([np.argmax(paths.outputs, axis=1) for paths in each]),
        len(each),
        each,
    )


def propagate(paths: ForestPaths, open_leaves: BoolArray, votes: IntArray) -> tuple[FloatArray, BoolArray]:
    """Tighten one row: (unknowns, 2) bounds and the leaves that are left. ``votes`` is (classes,)."""
    bounds = np.stack([np.zeros(paths.low.shape[1]), np.ones(paths.low.shape[1])], axis=1)
    left = open_leaves.copy()
    for _ in range(MAX_SWEEPS):
        before = int(left.sum())
        left &= _votes_fit(paths, left, votes)
        bounds = _bounds_of(paths, left)
        left &= ((paths.low < bounds[:, 1]) & (paths.high > bounds[:, 0])).all(axis=1)
        if int(left.sum()) == before:
            break
    return bounds, left


def _votes_fit(paths: ForestPaths, left: BoolArray, votes: IntArray) -> BoolArray:
    """Leaves that the counts still allow."""
    can = np.zeros((paths.n_trees, len(votes)), dtype=bool)
    can[paths.tree[left], paths.label[left]] = True
    must = can & (can.sum(axis=1, keepdims=True) == 1)
    full = must.sum(axis=0) == votes  # nobody else may vote for this class
    needed = can.sum(axis=0) == votes  # everybody who can vote for this class did
    allowed = can & (must | ~full)
    has_needed = (can & needed).any(axis=1)
    allowed[has_needed] &= needed
    # A contradiction would leave a tree without a vote: then the row says nothing.
    return np.asarray(allowed[paths.tree, paths.label] if allowed.any(axis=1).all() else left)


def _bounds_of(paths: ForestPaths, left: BoolArray) -> FloatArray:
    """A column lies, for every tree, within the hull of the tree's leaves: the intersection over the trees."""
    width = paths.low.shape[1]
    low, high = np.full((paths.n_trees, width), np.inf), np.full((paths.n_trees, width), -np.inf)
    np.minimum.at(low, paths.tree[left], paths.low[left])
    np.maximum.at(high, paths.tree[left], paths.high[left])
    lower, upper = low.max(axis=0), high.min(axis=0)
    crossed = lower > upper
    return np.stack([np.where(crossed, 0.0, lower), np.where(crossed, 1.0, upper)], axis=1)
