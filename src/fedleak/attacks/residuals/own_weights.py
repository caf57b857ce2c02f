"""Labels guessed from the party's own trained weights: what the model itself gives away.

No residual is needed, so noise on residuals does not stop it: it is what remains for as long as the partner is to have
a useful share of the model. A few known labels complete it with the line between the classes, which a score without
an intercept does not have.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.arrays import BoolArray, FloatArray
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.steps import FEATURES
from fedleak.core.view import View
from fedleak.protocols.linear import vocabulary as linear


class OwnWeights(Attack):
    name = "own-weights"
    summary = "predicts the labels with the party's own share of the trained model"
    reference = Reference("hu2022", "discussion of theorem 4.1")
    requires = frozenset({Capability.OWN_FEATURES, Capability.OWN_WEIGHTS, Capability.TWO_CLASSES})
    produces = SecretKind.LABELS

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        # An arbiter in the coalition has neither columns nor weights.
        holders = [member for member in view.coalition if any(True for _ in view.records(linear.WEIGHTS, member))]
        members = holders or view.coalition
        tables = [view.table(FEATURES, member) for member in members]
        weights = [view.array(linear.WEIGHTS, member).values for member in members]
        total = np.sum([table.values @ own for table, own in zip(tables, weights, strict=True)], axis=0)
        ids = np.asarray(tables[0].ids, dtype=np.int64)
        known = view.knowledge.labels_of(view.target.owner, ids)
        chances = _completed(total, known)
        return Guess(
            view.target,
            Status.PARTIAL,
            ids,
            (chances > 0.5).astype(float)[:, None],
            confidence=np.maximum(chances, 1 - chances)[:, None],
            evidence={"members": len(tables), "known labels": int(np.isfinite(known).sum())},
            why="a positive own score speaks for label 1; no guarantee comes with it",
        )

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        width = facts.n_adversary_features
        if width == 0:
            return Prediction(Verdict.IMPOSSIBLE, ("the adversary holds no column, so it has no weights",))
        return Prediction(
            Verdict.PARTIAL, ("as good as the adversary's own columns predict the label; no theorem bounds it",)
        )


def _completed(scores: FloatArray, known: FloatArray) -> FloatArray:
    """The chance of label 1: by the score in its own deviations; where labels are known, as far above the line that
    tells most of those apart (model completion of a linear model, Fu et al. 2022)."""
    spread = float(np.std(scores)) or 1.0
    told = np.isfinite(known)
    line = _line(scores[told], known[told] > 0.5)
    chances = 1 / (1 + np.exp(-(scores - line) / spread))
    return np.where(told, known, chances)


def _line(scores: FloatArray, positive: BoolArray) -> float:
    """Halfway between the two classes' middles, where the weights point as they should; otherwise at zero."""
    if not positive.any() or positive.all():
        return 0.0
    low, high = float(np.median(scores[~positive])), float(np.median(scores[positive]))
    return (low + high) / 2 if high > low else 0.0
