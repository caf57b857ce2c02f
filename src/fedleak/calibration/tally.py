"""What came of many decisions, and whether that is within the limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fedleak.core.finding import Outcome
from fedleak.metrics.exact_shares import share_interval

MOST_FALSE = 0.05  # of the seeds, over all cells of an attack
LEAST_FOUND = 0.95  # of a control's seeds
SURE = 0.001  # a cell breaks a limit where its one-sided 99.9 % bound does
SILENT = frozenset({Outcome.SKIPPED, Outcome.NOT_IDENTIFIABLE, Outcome.UNDETERMINED})


@dataclass(frozen=True)
class Tally:
    """Decisions about one attack on one table with so many rows, over its seeds."""

    attack: str
    table: str
    n: int
    outcomes: Mapping[Outcome, int]
    failures: tuple[str, ...] = ()  # what ended an attack, each reason once
    cpu_seconds: float = 0.0  # of the attempts and their decision, without the runs

    @property
    def seeds(self) -> int:
        return sum(self.outcomes.values())

    @property
    def leaks(self) -> int:
        return self.outcomes.get(Outcome.LEAK, 0)

    @property
    def answered(self) -> int:
        """Seeds in which the attack gave an answer that could be decided on."""
        return self.seeds - sum(self.outcomes.get(outcome, 0) for outcome in SILENT)

    @property
    def share(self) -> float:
        return self.leaks / self.seeds

    @property
    def ci(self) -> tuple[float, float]:
        """Exact, 95 % (Clopper and Pearson)."""
        return share_interval(self.leaks, self.seeds)

    def surely_above(self, share: float) -> bool:
        return share_interval(self.leaks, self.seeds, SURE)[0] > share

    def surely_below(self, share: float) -> bool:
        return share_interval(self.leaks, self.seeds, SURE)[1] < share


def added(tallies: Iterable[Tally]) -> list[Tally]:
    """Blocks of seeds of the same cell as one."""
    found: dict[tuple[str, str, int], list[Tally]] = {}
    for tally in tallies:
        found.setdefault((tally.attack, tally.table, tally.n), []).append(tally)
    return [_sum(parts, *cell) for cell, parts in found.items()]


def pooled(tallies: Iterable[Tally]) -> list[Tally]:
    """All cells of an attack as one; ``n`` 0 stands for all sizes."""
    found: dict[str, list[Tally]] = {}
    for tally in tallies:
        found.setdefault(tally.attack, []).append(tally)
    return [_sum(parts, attack, "all", 0) for attack, parts in found.items()]


def _sum(parts: Sequence[Tally], attack: str, table: str, n: int) -> Tally:
    outcomes: Counter[Outcome] = Counter()
    for part in parts:
        outcomes.update(part.outcomes)
    failures = tuple(dict.fromkeys(failure for part in parts for failure in part.failures))
    return Tally(attack, table, n, dict(outcomes), failures, sum(part.cpu_seconds for part in parts))


@dataclass(frozen=True)
class Calibration:
    """``exact`` False where seeds are few: a limit is then broken only where the seeds leave no doubt."""

    false_leaks: tuple[Tally, ...]
    power: tuple[Tally, ...]
    exact: bool = True
    broken: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "broken", (*self._cries_wolf(), *self._misses()))

    def _cries_wolf(self) -> Iterable[str]:
        for tally in self.false_leaks:
            if tally.surely_above(MOST_FALSE):
                yield f"{_cell(tally)}: a leak in {_share(tally)} without one, surely over {MOST_FALSE:.0%}"
        for tally in pooled(self.false_leaks):
            over = tally.share > MOST_FALSE if self.exact else tally.surely_above(MOST_FALSE)
            if over:
                yield f"{tally.attack}: a leak in {_share(tally)} without one, over {MOST_FALSE:.0%}"

    def _misses(self) -> Iterable[str]:
        for tally in self.power:
            under = tally.share < LEAST_FOUND if self.exact else tally.surely_below(LEAST_FOUND)
            if under:
                yield f"{_cell(tally)}: the leak is found in {_share(tally)}, under {LEAST_FOUND:.0%}"

    @property
    def silent(self) -> tuple[str, ...]:
        """Attacks that never gave an answer: nothing is known of how they are decided on."""
        return tuple(tally.attack for tally in pooled(self.false_leaks) if not tally.answered)


def _cell(tally: Tally) -> str:
    return f"{tally.attack} on {tally.table}, n = {tally.n}"


def _share(tally: Tally) -> str:
    return f"{tally.leaks} of {tally.seeds} seeds"
