"""Path restriction on a decision tree (Luo et al. 2021, algorithm 1).

Own features and the predicted class leave few of the tree's paths. Their boxes bound the victim's values; the centre
of the likeliest is given as the values, of several alike one is drawn. To the paper all are alike. Here a path is as
likely as the training rows that the tree counted at its nodes make it; where a tree was served without counts, as the
volume of its box, measured as the adversary's own columns spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from fedleak.attacks.predictions.prediction_case import PredictionCase, read_case
from fedleak.attacks.verdicts import model_not_revealed
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray, IntArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.view import View
from fedleak.models.inversion.tree_paths import TreePaths, candidate_paths, log_counts, log_volumes, tree_paths
from fedleak.models.tree_models import TreeModel
from fedleak.protocols.prediction.vocabulary import PredictionFacts


class Pick(StrEnum):
    UNIFORM = "uniform"  # every candidate alike, as in the paper
    VOLUME = "volume"  # by the share of the box of unknown columns that the path fills
    OWN_COLUMNS = "own-columns"  # the same, measured by how the adversary's own columns spread over their ranges
    COUNTS = "counts"  # by the training rows that the tree counted; own columns where it counted none


UNIFORM_SHARE = 0.1  # of the own columns' distribution: an interval that they never visit keeps some weight


def path_weights(
    case: PredictionCase, tree: TreeModel, paths: TreePaths, candidates: BoolArray, pick: Pick
) -> FloatArray:
    """(rows, paths): probabilities of the candidates, 0 for all others; zeros where a row has no candidate."""
    log_weights = _log_weights(case, tree, paths, pick)
    largest = np.where(candidates, log_weights, -np.inf).max(axis=1, initial=-np.inf, keepdims=True)
    relative = log_weights - np.where(np.isfinite(largest), largest, 0.0)
    weights = np.where(candidates, np.exp(np.minimum(relative, 0.0)), 0.0)
    empty = weights.sum(axis=1) == 0  # candidates outside the box: any of them
    weights[empty] = candidates[empty]
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1.0))


def _log_weights(case: PredictionCase, tree: TreeModel, paths: TreePaths, pick: Pick) -> FloatArray:
    """Of every path, up to a constant."""
    if pick is Pick.COUNTS:
        return log_counts(tree, case.own, case.own_positions)
    if pick is Pick.VOLUME:
        return log_volumes(paths, case.unknown_positions)
    return np.zeros(len(paths.leaves)) if pick is Pick.UNIFORM else _log_own_measure(paths, case)


ALIKE = 1e-9  # probabilities that differ by less, as a share of the largest, count as equal


def likeliest_paths(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """One path a row, of several equally likely ones a drawn one; -1 for a row without candidates."""
    best = weights.max(axis=1, initial=0.0, keepdims=True)
    alike = weights >= (1.0 - ALIKE) * best
    chosen = np.argmax(np.where(alike, rng.random(weights.shape), -1.0), axis=1)
    result: IntArray = np.where(best[:, 0] > 0, chosen, -1)
    return result


def boxes(paths: TreePaths, unknown: IntArray) -> tuple[FloatArray, FloatArray]:
    """Low and high of the unknown columns on each path, within the unit box; (paths, unknowns) each."""
    low = np.clip(paths.low[:, unknown], 0.0, 1.0)
    high = np.clip(paths.high[:, unknown], 0.0, 1.0)
    return low, np.maximum(high, low)


def hulls(paths: TreePaths, candidates: BoolArray, unknown: IntArray) -> FloatArray:
    """(rows, unknowns, 2): the smallest interval that holds a column on every candidate path."""
    low, high = boxes(paths, unknown)
    result = np.empty((len(candidates), len(unknown), 2))
    patterns, membership = np.unique(candidates, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        rows = membership.ravel() == number
        result[rows, :, 0] = low[pattern].min(axis=0) if pattern.any() else 0.0
        result[rows, :, 1] = high[pattern].max(axis=0) if pattern.any() else 1.0
    return result


def _log_own_measure(paths: TreePaths, case: PredictionCase) -> FloatArray:
    """ln of the probability of each path's box if every unknown column spread like the pooled own columns."""
    low, high = boxes(paths, case.unknown_positions)
    share = _pooled_distribution(case.own, high) - _pooled_distribution(case.own, low)
    with np.errstate(divide="ignore"):
        result: FloatArray = np.log(np.maximum(share, 0.0)).sum(axis=1)
    return result


def _pooled_distribution(own: FloatArray, at: FloatArray) -> FloatArray:
    """The share of own cells, each column put on the unit interval, below a value; a uniform part is mixed in."""
    spans = np.ptp(own, axis=0) if own.size else np.empty(0)
    varying = own[:, spans > 0]
    if not varying.size:
        return at
    pooled = np.sort(((varying - varying.min(axis=0)) / spans[spans > 0]).ravel())
    below = np.searchsorted(pooled, at, side="right") / len(pooled)
    at_least = np.where(at <= 0, 0.0, np.where(at >= 1, 1.0, below))  # cells at 0 belong to the first interval
    result: FloatArray = UNIFORM_SHARE * at + (1 - UNIFORM_SHARE) * at_least
    return result


EXACT = 1e-9


@dataclass(frozen=True)
class PathRestriction(Attack):
    name = "path-restriction"
    aliases = ("pra",)
    summary = "bounds the victim's values by the tree paths that own features and the prediction leave"
    reference = Reference("luo2021", "section IV-B, algorithm 1")
    requires = frozenset({Capability.OWN_FEATURES, Capability.TREE_MODEL, Capability.PREDICTIONS})
    produces = SecretKind.RANGES
    measured_by = "interval-score"

    pick: Pick = Pick.COUNTS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        case = read_case(view)
        if not isinstance(case.model, TreeModel):
            raise MissingFromViewError(f"path restriction needs a tree; the view has {type(case.model).__name__}")
        if not case.has_box:
            raise MissingFromViewError("path restriction needs the victim's feature ranges; declare them as knowledge")
        return self._answer(view, case, case.model, rng)

    def _answer(self, view: View, case: PredictionCase, tree: TreeModel, rng: np.random.Generator) -> Guess:
        paths = tree_paths(tree)
        tolerance = max(EXACT, case.release.unit + 4 * case.release.noise)
        candidates = candidate_paths(paths, case.own, case.own_positions, case.confidences, tolerance)
        pick = Pick.OWN_COLUMNS if self.pick is Pick.COUNTS and tree.counts is None else self.pick
        weights = path_weights(case, tree, paths, candidates, pick)
        chosen = likeliest_paths(weights, rng)
        low, high = boxes(paths, case.unknown_positions)
        centre = (low + high) / 2
        values = np.where((chosen >= 0)[:, None], centre[np.maximum(chosen, 0)], 0.5)
        counts = candidates.sum(axis=1)
        evidence = {
            "paths of the tree": len(paths.leaves),
            "mean number of candidate paths": float(counts.mean()) if len(counts) else 0.0,
            "share of rows with one path left": float(np.mean(counts == 1)) if len(counts) else 0.0,
            "rows without a path": int((counts == 0).sum()),
            "mean probability of the path that is named": float(weights.max(axis=1).mean()) if len(counts) else 0.0,
            "pick": pick.value,
        }
        why = f"{evidence['mean number of candidate paths']:.2f} of {len(paths.leaves)} paths are left on average"
        intervals = hulls(paths, candidates, case.unknown_positions)
        return case.guess(view, Status.PARTIAL, values, why=why, evidence=evidence, intervals=intervals)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        model = facts.of(PredictionFacts).model
        if model not in (None, "tree"):
            return Prediction(Verdict.IMPOSSIBLE, (f"the model is of kind {model}, not a single tree",))
        if (hidden := model_not_revealed(cls.requires, facts)) is not None:
            return hidden
        return Prediction(Verdict.PARTIAL, ("every revealed prediction bounds the columns on its candidate paths",))
