"""Labels guessed from the party's own trained weights: what the model itself gives away.

No residual is needed, so noise on residuals does not stop it: it is what remains for as long as the
partner is to have a useful share of the model.
"""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Capability, SecretKind
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
        spread = float(np.std(total)) or 1.0
        return Guess(
            view.target,
            Status.PARTIAL,
            np.asarray(tables[0].ids, dtype=np.int64),
            (total > 0).astype(float)[:, None],
            confidence=(1 / (1 + np.exp(-np.abs(total) / spread)))[:, None],
            evidence={"members": len(tables)},
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
