"""How bad a leak is, by one rule for all secrets.

The rule looks at the share of the way from the baseline to a perfect answer that the attack went.
Residuals and partial scores are means to an end: alone they are at most a medium leak.
"""

from __future__ import annotations

from fedleak.core.finding import Severity
from fedleak.core.score import Better, Score
from fedleak.core.secret import SecretKind

INTERMEDIATE = frozenset(
    {SecretKind.RESIDUALS, SecretKind.PARTIAL_SCORES, SecretKind.GRAM, SecretKind.WEIGHTS, SecretKind.COLUMN_PRODUCTS}
)


def severity(score: Score, kind: SecretKind) -> Severity:
    if not score.beats_baseline:
        return Severity.NONE
    perfect = 1.0 if score.better is Better.HIGHER else 0.0
    room = abs(perfect - score.baseline)
    share = score.gain / room if room > 0 else 0.0
    grade = Severity.HIGH if share >= 0.8 else Severity.MEDIUM if share >= 0.3 else Severity.LOW
    return min(grade, Severity.MEDIUM) if kind in INTERMEDIATE else grade
