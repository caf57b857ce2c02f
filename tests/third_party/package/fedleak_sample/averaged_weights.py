"""Labels from the mean of the party's own weights over all rounds: an attack that knows fedleak by its core alone."""

from __future__ import annotations

import numpy as np

from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Attack, Guess, Prediction, Reference, Status, Verdict
from fedleak.core.facts import Facts
from fedleak.core.payload import Array
from fedleak.core.view import View


class AveragedWeights(Attack):
    name = "averaged-weights"
    summary = "predicts the labels with the mean of the party's own weights over all rounds"
    reference = Reference("sample2026", "section 1")
    requires = frozenset({Capability.OWN_FEATURES, Capability.OWN_WEIGHTS, Capability.TWO_CLASSES})
    produces = SecretKind.LABELS
    controls = ("controls/averaged_weights.toml",)

    def run(self, view: View, *, rng: np.random.Generator) -> Guess:
        table = view.table("features")
        found = [record.value.values for record in view.records("weights") if isinstance(record.value, Array)]
        scores = table.values @ np.mean(found, axis=0)
        ids = np.asarray(table.ids, dtype=np.int64)
        spread = float(np.std(scores)) or 1.0
        sure = 1 / (1 + np.exp(-np.abs(scores) / spread))  # labels are ranked by it
        return Guess(view.target, Status.PARTIAL, ids, (scores > 0).astype(float)[:, None], confidence=sure[:, None])

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return Prediction(Verdict.PARTIAL, ("as good as the party's own columns predict the label",))
