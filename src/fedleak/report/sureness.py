"""How sure a leak is: a proof in what the partner sees, or what luck would bring about."""

from __future__ import annotations

from fedleak.core.finding import Finding
from fedleak.report.numbers import count, percent
from fedleak.report.wording import who


def how_sure(finding: Finding) -> str:
    """In a clause."""
    if finding.certificate:
        return f"proved by what the partner sees: {finding.certificate}"
    chance = finding.p_corrected if finding.p_corrected is not None else finding.p_value
    if chance is None:
        return "measured beyond what prior knowledge gives"
    return f"luck alone gets so far in {'under 0.1 %' if chance < 0.001 else percent(chance)} of cases"


def sure_in_short(finding: Finding, repeats: int) -> str:
    """In a short sentence: of a proof only that there is one."""
    if finding.certificate:
        return f"Proved by what {who(finding.adversary)} {'see' if len(finding.adversary) > 1 else 'sees'} alone."
    sure = how_sure(finding)
    return f"{sure[0].upper()}{sure[1:]} ({count(repeats, 'run')})."
