"""The one column outside, through packed products, for larger batches (Hu et al. 2022, section 5.2)."""

from __future__ import annotations

from fedleak.attacks.features.single_column_recovery import SingleColumnRecovery, assess_single_column
from fedleak.attacks.training import packed
from fedleak.core.attack import Prediction, Reference, Verdict
from fedleak.core.facts import Facts
from fedleak.theory.hu2022.victim import n_outside_features


class PackedSingleColumn(SingleColumnRecovery):
    name = "packed-single-column"
    summary = "recovers the one column outside from scores that packed products opened"
    reference = Reference("hu2022", "algorithm 2 and theorem 3.5")
    requires = packed.REQUIRES
    deviation = packed.DEVIATION

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        prediction = packed.predict_packed(facts, assess_single_column(facts))
        if prediction.verdict is Verdict.UNKNOWN and n_outside_features(facts) not in (None, 1):
            return Prediction(Verdict.IMPOSSIBLE, prediction.reasons)
        return prediction
