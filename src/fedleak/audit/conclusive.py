"""Whether an audit says enough to call a federation clean."""

from __future__ import annotations

from fedleak.core.finding import Finding, Outcome
from fedleak.core.report import Report

MEASURED = frozenset({Outcome.LEAK, Outcome.NO_LEAK})
ANSWERED = MEASURED | {Outcome.NOT_IDENTIFIABLE}


def still_unknown(report: Report) -> str | None:
    """What would have to be known and is not: no measurement at all, or a question with undetermined answers alone.

    A question is a secret, who is after it, and under which defense.
    """
    if not any(finding.outcome in MEASURED for finding in report.findings):
        return "not one attack gave a measured outcome"
    answered = {_question(finding) for finding in report.findings if finding.outcome in ANSWERED}
    undetermined = [finding for finding in report.findings if finding.outcome is Outcome.UNDETERMINED]
    left = dict.fromkeys(_question(finding) for finding in undetermined if _question(finding) not in answered)
    return f"undetermined is {'; '.join(left)}" if left else None


def _question(finding: Finding) -> str:
    under = f" under {finding.defense}" if finding.defense else ""
    return f"what {' + '.join(finding.adversary)} ({finding.mode.value}) learns of {finding.secret}{under}"
