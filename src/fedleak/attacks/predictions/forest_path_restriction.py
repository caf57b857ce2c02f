"""Path restriction on a random forest: what is released constrains which paths the trees can have taken together.

The paper holds this for infeasible (there may be C(100, 40) combinations) and turns to a network instead. Intervals do
it without listing combinations. A confidence times the number of trees is a sum over the trees, of votes or of leaf
fractions, and own features leave some leaves of each tree. A leaf is ruled out if the sum cannot be reached with it:
not even with the most, or already over it with the least, that the other trees can give. Rounding and noise widen the
sum to an interval; a label alone says that its own sum is the largest. What is left of a tree bounds the columns,
which removes leaves of other trees, until nothing changes.
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
from fedleak.models.tree_models import ForestModel
from fedleak.protocols.prediction.vocabulary import PredictionFacts


@dataclass(frozen=True)
class ForestPathRestriction(Attack):
    """``row_budget`` bounds the work: rows beyond it keep the whole range."""

    name = "forest-path-restriction"
    aliases = ("forest-pra",)
    summary = "bounds the victim's values by the leaves that own features and the sums over a forest's trees leave"
    reference = Reference("fedleak", "from luo2021, section V-B")
    requires = frozenset({Capability.OWN_FEATURES, Capability.FOREST_MODEL, Capability.PREDICTIONS})
    produces = SecretKind.RANGES
    measured_by = "interval-score"

    row_budget: int = 5000

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        forest = case.model
        if not isinstance(forest, ForestModel):
            raise MissingFromViewError(f"it needs a forest; the view has {type(forest).__name__}")
        case.require_box()
        paths = forest_paths(forest, case.unknown_positions)
        open_leaves = _allowed_by_own(case, paths)
        intervals = np.empty((len(case.ids), case.n_unknown, 2))
        intervals[:] = (0.0, 1.0)
        n_left, n_done = 0, min(len(case.ids), self.row_budget)
        for row in range(n_done):
            intervals[row], left = propagate(paths, open_leaves[row], sums_of(case, paths, row))
            n_left += int(left.sum())
        width = float((intervals[:, :, 1] - intervals[:, :, 0]).mean()) if intervals.size else 1.0
        evidence = {
            "rows examined": n_done,
            "leaves a row that own columns leave": float(open_leaves.sum(axis=1).mean()) if len(case.ids) else 0.0,
            "leaves a row that the prediction leaves": n_left / max(n_done, 1),
            "mean width of an interval": width,
        }
        why = f"predictions and own columns narrow the victim's columns to {width:.3f} of their ranges on average"
        values = intervals.mean(axis=2)
        return case.guess(view, Status.PARTIAL, values, why=why, evidence=evidence, intervals=intervals)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        model = facts.of(PredictionFacts).model
        if model not in (None, "forest"):
            return Prediction(Verdict.IMPOSSIBLE, (f"the model is of kind {model}, not a forest",))
        return Prediction(Verdict.PARTIAL, ("sums over the trees rule leaves out; how many, no theorem says",))


def _allowed_by_own(case: PredictionCase, paths: ForestPaths) -> BoolArray:
    return np.hstack([tree.matching(case.own, case.own_positions) for tree in paths.own])


MAX_SWEEPS = 10


@dataclass(frozen=True, eq=False)
class ForestPaths:
    """All leaves of all trees, tree after tree: the tree of each, its box over the unknown columns, and its output."""

    tree: IntArray  # (leaves,)
    first: IntArray  # (trees,): where a tree's leaves begin
    low: FloatArray  # (leaves, unknowns)
    high: FloatArray
    outputs: FloatArray  # (leaves, classes)
    own: tuple[TreePaths, ...]

    @property
    def n_trees(self) -> int:
        return len(self.first)


def forest_paths(forest: ForestModel, unknown: IntArray) -> ForestPaths:
    each = tuple(tree_paths(tree) for tree in forest.trees)
    sizes = [len(paths.leaves) for paths in each]
    return ForestPaths(
        np.repeat(np.arange(len(each)), sizes),
        np.cumsum([0, *sizes[:-1]]),
        np.clip(np.concatenate([paths.low[:, unknown] for paths in each]), 0.0, 1.0),
        np.clip(np.concatenate([paths.high[:, unknown] for paths in each]), 0.0, 1.0),
        np.concatenate([paths.outputs for paths in each]),
        each,
    )


@dataclass(frozen=True, eq=False)
class Sums:
    """What a row's leaves, one a tree, add up to: ``least <= sum of terms <= most``, class by class."""

    terms: FloatArray  # (leaves, classes)
    least: FloatArray  # (classes,)
    most: FloatArray


SAME = 1e-9  # room, a tree, for sums in another order


def sums_of(case: PredictionCase, paths: ForestPaths, row: int) -> Sums:
    """What was released of a row, as bounds on sums over the trees."""
    release, seen = case.release, case.confidences[row]
    room = SAME * paths.n_trees
    if release.top_label:  # no class has more than the named one
        named = int(np.argmax(seen))
        terms = paths.outputs[:, named, None] - paths.outputs
        return Sums(terms, np.full(len(seen), -room), np.full(len(seen), np.inf))
    middle = seen + release.unit / 2 if release.rounded_down else seen
    reach = release.reach * paths.n_trees + room
    return Sums(paths.outputs, middle * paths.n_trees - reach, middle * paths.n_trees + reach)


def propagate(paths: ForestPaths, open_leaves: BoolArray, sums: Sums) -> tuple[FloatArray, BoolArray]:
    """Tighten one row: (unknowns, 2) bounds and the leaves that are left."""
    bounds = np.stack([np.zeros(paths.low.shape[1]), np.ones(paths.low.shape[1])], axis=1)
    left = open_leaves.copy()
    for _ in range(MAX_SWEEPS):
        before = int(left.sum())
        left &= _sums_fit(paths, left, sums)
        bounds = _bounds_of(paths, left)
        left &= ((paths.low < bounds[:, 1]) & (paths.high > bounds[:, 0])).all(axis=1)
        if int(left.sum()) == before:
            break
    return bounds, left


def _sums_fit(paths: ForestPaths, left: BoolArray, sums: Sums) -> BoolArray:
    """Leaves with which the sums can still be reached, whatever the other trees do."""
    least = np.minimum.reduceat(np.where(left[:, None], sums.terms, np.inf), paths.first)
    most = np.maximum.reduceat(np.where(left[:, None], sums.terms, -np.inf), paths.first)
    others_least = (least.sum(axis=0) - least)[paths.tree]
    others_most = (most.sum(axis=0) - most)[paths.tree]
    fits = (sums.terms + others_least <= sums.most) & (sums.terms + others_most >= sums.least)
    allowed = left & fits.all(axis=1)
    # A contradiction would leave a tree without a leaf: then the row says nothing.
    return allowed if np.logical_or.reduceat(allowed, paths.first).all() else left


def _bounds_of(paths: ForestPaths, left: BoolArray) -> FloatArray:
    """A column lies, for every tree, within the hull of the tree's leaves: the intersection over the trees."""
    width = paths.low.shape[1]
    low, high = np.full((paths.n_trees, width), np.inf), np.full((paths.n_trees, width), -np.inf)
    np.minimum.at(low, paths.tree[left], paths.low[left])
    np.maximum.at(high, paths.tree[left], paths.high[left])
    lower, upper = low.max(axis=0), high.min(axis=0)
    crossed = lower > upper
    return np.stack([np.where(crossed, 0.0, lower), np.where(crossed, 1.0, upper)], axis=1)
