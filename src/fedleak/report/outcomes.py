"""What the six outcomes of a finding mean, in words."""

from __future__ import annotations

from fedleak.core.finding import Finding, Outcome

DECIDED = frozenset({Outcome.LEAK, Outcome.NO_LEAK})  # the others are neither, and none of them is a zero
ANSWERS = DECIDED | {Outcome.NOT_IDENTIFIABLE}

OUTCOME_WORDS = {
    Outcome.LEAK: "leak",
    Outcome.NO_LEAK: "no leak found",
    Outcome.NOT_IDENTIFIABLE: "not identifiable",
    Outcome.UNDETERMINED: "undetermined",
    Outcome.SKIPPED: "skipped",
    Outcome.ERRORED: "errored",
}
OUTCOME_MEANING = {
    Outcome.LEAK: "The attack did better than prior knowledge alone allows.",
    Outcome.NO_LEAK: "This attack did no better than prior knowledge alone; another one might.",
    Outcome.NOT_IDENTIFIABLE: "Several secrets fit what the adversary sees, so this attack cannot tell which is true.",
    Outcome.UNDETERMINED: "The attack ended without deciding, for want of budget or evidence.",
    Outcome.SKIPPED: "The attack was not run: something that it needs was missing.",
    Outcome.ERRORED: "The attack failed while it ran.",
}


def reason_of(finding: Finding) -> str:
    """The finding's own reason, or else what its outcome means."""
    return finding.why or OUTCOME_MEANING[finding.outcome]
