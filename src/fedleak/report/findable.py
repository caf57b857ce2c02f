"""What the page's search looks at: names of partners, attacks, secrets, columns and defenses, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fedleak.core.finding import Finding
from fedleak.report.wording import outcome_words, possessive, who


def findable(findings: Iterable[Finding]) -> str:
    return " ".join(dict.fromkeys(word for finding in findings for word in _words(finding)))


def _words(finding: Finding) -> Iterator[str]:
    yield from (who(finding.adversary), finding.mode.value, finding.attack, possessive(finding.secret))
    yield from (outcome_words(finding), finding.defense or "")
    yield from finding.risks
    if finding.is_shown:
        yield f"severity {finding.severity.label}"
    yield from (column.column for column in finding.columns)
