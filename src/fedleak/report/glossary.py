"""Words that a page cannot do without, for whoever meets them for the first time."""

from __future__ import annotations

from fedleak.core.adversary import SecretKind
from fedleak.core.report import Report
from fedleak.core.risk import Risk
from fedleak.report.wording import MODE_MEANING, OUTCOME_MEANING, OUTCOME_WORDS

OURS = (
    ("record", "A row of the table: as a rule a person."),
    ("label", "What the model learns to predict, such as who defaulted."),
    ("feature", "A column that the model predicts from."),
    ("attack", "A way to compute somebody's data from what one partner sends, receives and has."),
    ("prior knowledge", "What the adversary knows without a single message; the best guess from it is the baseline."),
    ("95 % interval", "Where the figure lies in 95 of 100 audits like this one."),
    ("severity", "High from 80 % of the way from a blind answer to the truth, medium from 30 %, low below."),
    ("defense", "What an honest party does so that less leaks."),
    ("theory", "What a proved theorem expects of the attack, before anything runs."),
)


def glossary(report: Report) -> tuple[tuple[str, str], ...]:
    """Our own words, and of risks, modes, outcomes and secrets those that the page uses."""
    found = report.findings
    modes = [(mode.value, meant) for mode, meant in MODE_MEANING.items() if any(f.mode is mode for f in found)]
    outcomes = [
        (OUTCOME_WORDS[outcome], meant)
        for outcome, meant in OUTCOME_MEANING.items()
        if any(f.outcome is outcome for f in found)
    ]
    kinds = [kind for kind in SecretKind if any(f.secret.kind is kind for f in found)]
    risks = [(risk.value, risk.question) for risk in Risk if any(risk in f.risks for f in found)]
    secrets = [(kind.words, kind.consequence.format(owner="the owner")) for kind in kinds]
    return (*OURS, *risks, *modes, *outcomes, *secrets)
