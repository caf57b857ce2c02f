"""Labels by sign through packed products, for batches beyond the own features (Hu et al. 2022, section 5.2)."""

from __future__ import annotations

from fedleak.attacks.labels.residual_sign import ResidualSign, assess_labels
from fedleak.attacks.training import packed
from fedleak.core.attack import Prediction, Reference
from fedleak.core.facts import Facts


class PackedResidualSign(ResidualSign):
    name = "packed-residual-sign"
    aliases = ()
    summary = "reads labels off residuals that packed products opened, for batches beyond the own features"
    reference = Reference("hu2022", "algorithm 2 and criterion 4.2")
    requires = packed.REQUIRES
    deviation = packed.DEVIATION

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return packed.predict_packed(facts, assess_labels(facts))
