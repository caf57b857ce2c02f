"""How likely luck alone gets as far as an attack: over several runs, over its columns, over all attacks on a secret.

A leak is what luck brings about in at most 2.5 % of cases. An attack that is measured in several ways, on several
columns, or beside other attacks has as many chances, and each is corrected for (Holm 1979).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedleak.core.attack import Status
from fedleak.core.finding import Better, Finding, Outcome, Score, Severity
from fedleak.metrics.metric import LUCK
from fedleak.metrics.row_tests import RowTest
from fedleak.metrics.tails import mean_tail

NEARLY = 1e-3


@dataclass(frozen=True)
class Luck:
    """``p_value`` is corrected for the columns and for what was measured of them, ``columns`` for the latter alone."""

    p_value: float
    columns: Mapping[str, float]
    leaking: frozenset[str]  # after correction

    @property
    def is_none(self) -> bool:
        return self.p_value <= LUCK


def luck_of(runs: Sequence[Sequence[RowTest]]) -> Luck:
    """Every run has the same tests."""
    by_test: dict[tuple[str | None, str], list[RowTest]] = defaultdict(list)
    for test in (test for run in runs for test in run):
        by_test[test.about, test.measure].append(test)
    by_column: dict[str | None, list[float]] = defaultdict(list)
    for (about, _), tests in by_test.items():
        by_column[about].append(over_runs(tests))
    chances = {about: min(1.0, len(found) * min(found)) for about, found in by_column.items()}
    corrected = dict(zip(chances, holm(list(chances.values())), strict=True))
    leaking = frozenset(about for about, chance in corrected.items() if about is not None and chance <= LUCK)
    columns = {about: chance for about, chance in chances.items() if about is not None}
    return Luck(min(corrected.values(), default=1.0), columns, leaking)


def over_runs(tests: Sequence[RowTest]) -> float:
    """Runs share their rows, and luck of rows may be the same in all of them: more than half of the runs must show it
    (Rüger 1978: the k-th of R, times R / k, holds however they depend). Luck that the rows of one run share differs
    between runs: over several, the gain must be above 0 as well (Student)."""
    chances, gains = sorted(test.p_value for test in tests), [test.gain for test in tests]
    n_runs, k = len(chances), len(chances) // 2 + 1
    alike = chances[-1] - chances[0] <= 1e-12
    found = chances[k - 1] * (1.0 if alike else n_runs / k)
    told = np.array([gain for gain in gains if gain is not None])
    if len(told) == n_runs > 1:
        found = max(found, mean_tail(told))
    return min(1.0, found)


def holm(chances: Sequence[float]) -> list[float]:
    """Holm 1979: the smallest counts as many times as there are chances, the next once less; never falling."""
    order = np.argsort(chances, kind="stable")
    corrected, highest = [1.0] * len(chances), 0.0
    for rank, at in enumerate(order.tolist()):
        highest = max(highest, min(1.0, (len(chances) - rank) * chances[at]))
        corrected[at] = highest
    return corrected


def decide_together(findings: Sequence[Finding]) -> list[Finding]:
    """Attacks by one adversary on one secret are as many chances to be lucky. What the view proves, and what an attack
    says to have recovered and has, to the last cell, is no luck however many others were tried."""
    families: dict[object, list[int]] = defaultdict(list)
    for place, finding in enumerate(findings):
        if finding.p_value is not None and finding.outcome in (Outcome.LEAK, Outcome.NO_LEAK):
            families[finding.adversary, finding.mode, finding.secret, finding.defense].append(place)
    decided = list(findings)
    for places in families.values():
        corrected = holm([_chance(findings[place]) for place in places])
        for place, chance in zip(places, corrected, strict=True):
            decided[place] = _corrected(findings[place], chance, len(places))
    return decided


def _chance(finding: Finding) -> float:
    assert finding.p_value is not None
    return finding.p_value


def _corrected(finding: Finding, chance: float, n_attacks: int) -> Finding:
    known = replace(finding, p_corrected=chance)
    if finding.outcome is Outcome.NO_LEAK or chance <= LUCK or is_beyond_luck(finding):
        return known
    why = f"it may be luck, with {n_attacks} attacks on this secret" + (f" ({finding.why})" if finding.why else "")
    columns = tuple(replace(column, leaks=False) for column in finding.columns)
    return replace(known, outcome=Outcome.NO_LEAK, severity=Severity.NONE, why=why, columns=columns)


def is_beyond_luck(finding: Finding) -> bool:
    """A leak that no number of other attacks makes doubtful."""
    recovered = finding.claim is not None and finding.claim.status == Status.RECOVERED
    return bool(finding.certificate) or (recovered and finding.score is not None and is_perfect(finding.score))


def is_perfect(score: Score) -> bool:
    return abs(score.value - (1.0 if score.better is Better.HIGHER else 0.0)) <= NEARLY
