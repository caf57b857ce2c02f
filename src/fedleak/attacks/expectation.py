"""From a theorem's assessment to what an attack may expect."""

from __future__ import annotations

from fedleak.core.attack import Prediction, Verdict
from fedleak.core.capability import Capability
from fedleak.core.facts import Facts
from fedleak.theory.condition import Assessment, State


def from_assessment(assessment: Assessment, *, if_fails: Verdict = Verdict.IMPOSSIBLE) -> Prediction:
    """Exact where the theorem holds; ``if_fails`` where a condition is broken."""
    verdict = {State.HOLDS: Verdict.EXACT, State.FAILS: if_fails, State.UNKNOWN: Verdict.UNKNOWN}[assessment.state]
    lead = f"{assessment.theorem}: {assessment.conclusion}" if verdict is Verdict.EXACT else assessment.theorem
    return Prediction(verdict, (lead, *assessment.reasons))


def model_not_revealed(requires: frozenset[Capability], facts: Facts) -> Prediction | None:
    """What attacks on predictions expect where the coalition is known to lack what they need; otherwise nothing."""
    if facts.capabilities is None or requires <= facts.capabilities:
        return None
    return Prediction(Verdict.IMPOSSIBLE, ("the model or its predictions are not revealed",))
