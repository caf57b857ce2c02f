"""What attacks that open their partner's shares by packed products have in common."""

from __future__ import annotations

from fedleak.attacks.expectation import from_assessment
from fedleak.core.attack import Prediction, Verdict
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, State
from fedleak.theory.hu2022.packed_equations import PackedEquations, enough_slots
from fedleak.theory.hu2022.unique_residuals import UniqueResiduals

DEVIATION = "packed-products"
REQUIRES = frozenset(
    {
        Capability.OWN_FEATURES,
        Capability.OWN_WEIGHTS,
        Capability.BATCH_IDS,
        Capability.CIPHERTEXTS,
        Capability.TWO_CLASSES,
    }
)


def predict_packed(facts: Facts, assessment: Assessment) -> Prediction:
    """A theorem's prediction with the passive condition s <= d replaced by s <= u d."""
    passive = {condition.statement for condition in UniqueResiduals.assess(facts).conditions}
    others = tuple(condition for condition in assessment.conditions if condition.statement not in passive)
    packed = PackedEquations.assess(facts)
    merged = Assessment(
        packed.theorem, (*packed.conditions, *others), f"{packed.conclusion}; {assessment.conclusion}", packed.remedy
    )
    too_few = enough_slots(facts).state is State.FAILS
    # Where another condition fails, noise above all, the theorem is silent about what can still be had.
    return from_assessment(merged, if_fails=Verdict.IMPOSSIBLE if too_few else Verdict.UNKNOWN)
