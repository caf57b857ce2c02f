"""Residuals through columns that the party only claims to have (Hu et al. 2022, end of section 5.2)."""

from __future__ import annotations

from fedleak.attacks.labels.residual_recovery import ResidualRecovery
from fedleak.core.attack import Prediction, Reference, Verdict
from fedleak.core.facts import Facts
from fedleak.theory.condition import State, no_noise


class ClaimedResidualRecovery(ResidualRecovery):
    name = "claimed-residual-recovery"
    summary = "solves a gradient that random claimed columns have made long enough"
    reference = Reference("hu2022", "section 5.2")
    deviation = "claimed-columns"

    @classmethod
    def predict(cls, facts: Facts) -> Prediction:
        width = facts.n_adversary_features
        if width is None or facts.batch_size is None:
            return Prediction(Verdict.UNKNOWN, ("the columns or the batch size is not known",))
        noise = no_noise(facts)
        if noise.state is not State.HOLDS:
            return Prediction(Verdict.UNKNOWN, (f"residuals carry noise: {noise.detail}",))
        missing = max(0, facts.batch_size - width)
        return Prediction(
            Verdict.EXACT, (f"{missing} claimed columns make up for what the batch has beyond the {width} real ones",)
        )
