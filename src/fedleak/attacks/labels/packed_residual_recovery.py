"""Residuals through packed products: the batch may be many times the own features (Hu et al. 2022, section 5.2)."""

from __future__ import annotations

from fedleak.attacks.labels.residual_recovery import ResidualRecovery
from fedleak.attacks.training import packed
from fedleak.core.attack import Prediction, Reference
from fedleak.core.facts import Facts
from fedleak.theory.hu2022.packed_equations import PackedEquations


class PackedResidualRecovery(ResidualRecovery):
    name = "packed-residual-recovery"
    summary = "opens every value that partners encrypt, by products packed into what they decrypt"
    reference = Reference("hu2022", "algorithm 2")
    requires = packed.REQUIRES
    deviation = packed.DEVIATION

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        return packed.predict_packed(facts, PackedEquations.assess(facts))
