"""Whether theory and measurement agree, finding by finding."""

from __future__ import annotations

from enum import StrEnum

from fedleak.core.attack import Verdict
from fedleak.core.conclusion import contradicts_theory
from fedleak.core.finding import Finding, Outcome
from fedleak.report.numbers import percent
from fedleak.report.wording import share_recovered

NEARLY_ALL = 0.95  # of the cells: the rest may be lost to rounding and ill-conditioning


class Agreement(StrEnum):
    AGREES = "agrees"
    FALLS_SHORT = "falls short"
    DISAGREES = "disagrees"
    NO_PREDICTION = "no prediction"
    NO_MEASUREMENT = "no measurement"


def agreement(finding: Finding) -> Agreement:
    if finding.outcome in {Outcome.SKIPPED, Outcome.ERRORED, Outcome.UNDETERMINED, Outcome.UNCHECKED}:
        return Agreement.NO_MEASUREMENT
    if contradicts_theory(finding):
        return Agreement.DISAGREES
    match finding.theory.verdict:
        case Verdict.EXACT:
            return _against_exact(finding)
        case Verdict.PARTIAL:  # what a model predicts of a label is part of it
            return Agreement.AGREES if finding.outcome is Outcome.LEAK or finding.predicts else Agreement.DISAGREES
        case Verdict.IMPOSSIBLE:
            return Agreement.AGREES
    return Agreement.NO_PREDICTION


def agreement_words(finding: Finding) -> str:
    """A sentence of what theory said and whether the run bore it out."""
    predicted = PREDICTED.get(finding.theory.verdict, "Theory makes no prediction here.")
    match agreement(finding):
        case Agreement.AGREES:
            return f"{predicted} The measurement agrees."
        case Agreement.FALLS_SHORT:
            return f"{predicted} The measurement falls short: {percent(share_recovered(finding))}."
        case Agreement.DISAGREES:
            return f"{predicted} The measurement disagrees: {IN_FACT[finding.outcome]}."
        case Agreement.NO_MEASUREMENT:
            return f"{predicted} There is no measurement to hold against it."
    return predicted


PREDICTED = {
    Verdict.EXACT.value: "Theory expects exact recovery.",
    Verdict.PARTIAL.value: "Theory expects partial recovery.",
    Verdict.IMPOSSIBLE.value: "Theory says that recovery is impossible.",
}
IN_FACT = {
    Outcome.LEAK: "the attack beat its baseline",
    Outcome.NO_LEAK: "the attack did not beat its baseline",
    Outcome.NOT_IDENTIFIABLE: "the view does not determine the secret",
}


def _against_exact(finding: Finding) -> Agreement:
    share = share_recovered(finding)
    return Agreement.AGREES if share is None or share >= NEARLY_ALL else Agreement.FALLS_SHORT
