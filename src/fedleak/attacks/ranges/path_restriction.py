"""Path restriction on a decision tree (Luo et al. 2021, algorithm 1).

Own features and the predicted class leave few of the tree's paths. Their boxes bound the victim's values; one path is
drawn and its centre given as the values. The paper draws uniformly; here the draw is by the volume of the paths' boxes,
measured as the adversary's own columns spread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedleak.attacks.expectation import model_not_revealed
from fedleak.attacks.predictions import PredictionCase, read_case
from fedleak.attacks.ranges.path_choice import Pick, boxes, drawn_paths, hulls, path_weights
from fedleak.core.attack import Attack, Prediction, Reference, Verdict
from fedleak.core.capability import Capability
from fedleak.core.errors import MissingFromViewError
from fedleak.core.facts import Facts
from fedleak.core.guess import Guess, Status
from fedleak.core.secret import SecretKind
from fedleak.core.view import View
from fedleak.models.inversion.tree_paths import candidate_paths, tree_paths
from fedleak.models.tree import TreeModel

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

    pick: Pick = Pick.OWN_COLUMNS

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
        chosen = drawn_paths(path_weights(paths, candidates, case.unknown_positions, self.pick, case.own), rng)
        low, high = boxes(paths, case.unknown_positions)
        centre = (low + high) / 2
        values = np.where((chosen >= 0)[:, None], centre[np.maximum(chosen, 0)], 0.5)
        counts = candidates.sum(axis=1)
        evidence = {
            "paths of the tree": len(paths.leaves),
            "mean number of candidate paths": float(counts.mean()) if len(counts) else 0.0,
            "share of rows with one path left": float(np.mean(counts == 1)) if len(counts) else 0.0,
            "rows without a path": int((counts == 0).sum()),
            "pick": self.pick.value,
        }
        why = f"{evidence['mean number of candidate paths']:.2f} of {len(paths.leaves)} paths are left on average"
        intervals = hulls(paths, candidates, case.unknown_positions)
        return case.guess(view, Status.PARTIAL, values, why=why, evidence=evidence, intervals=intervals)

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        model = facts.options.get("model")
        if model not in (None, "tree"):
            return Prediction(Verdict.IMPOSSIBLE, (f"the model is of kind {model}, not a single tree",))
        if (hidden := model_not_revealed(cls.requires, facts)) is not None:
            return hidden
        return Prediction(Verdict.PARTIAL, ("every revealed prediction bounds the columns on its candidate paths",))
