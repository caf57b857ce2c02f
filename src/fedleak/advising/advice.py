"""From a search to at most three recommendations, each confirmed by an audit that had no part in its choice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fedleak.advising.measured import Bench, Measured
from fedleak.advising.remedy import Change, LeakLeft, Remedy, remedy_of
from fedleak.advising.search import Search, pareto
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_edit import changed_keys, edit_text
from fedleak.report.model_beside_guess import NO_JUDGE
from fedleak.trial.progress import Progress

SCHEMA_VERSION = 1  # of advice as JSON
MOST = 3  # recommendations
MOST_CONFIRMED = 9  # audits to confirm them
MOST_OF_A_KIND = 4


@dataclass(frozen=True)
class Point:
    """One scenario that was audited, for the picture."""

    edit: str
    leak: float
    usefulness: float
    closes: bool
    on_front: bool


@dataclass(frozen=True)
class Advice:
    """``repr`` is what it comes to. ``leaks``: of the scenario as it is."""

    title: str
    leaks: tuple[LeakLeft, ...]
    remedies: tuple[Remedy, ...]
    points: tuple[Point, ...]
    metric: str | None  # of usefulness
    baseline: float | None
    n_audits: int
    n_ruled_out: int
    n_refused: int
    notes: tuple[str, ...] = ()
    interrupted: bool = False

    @property
    def closes(self) -> bool:
        return bool(self.remedies) and self.remedies[0].closes

    def in_words(self) -> str:
        if not self.leaks:
            return "no leak was found in the scenario as it is: there is nothing to mend"
        if self.closes:
            n_closing = sum(one.closes for one in self.remedies)
            return f"{n_closing} change{'s close' if n_closing > 1 else ' closes'} every leak that was found"
        if any(not one.confirmed for one in self.remedies) or self.interrupted:
            return "nothing is confirmed yet to close every leak"
        return "nothing that was tried closes every leak and leaves a useful model"

    def __repr__(self) -> str:
        return f"<Advice on {self.title}: {self.in_words()}>"

    def to_json(self) -> dict[str, object]:
        return {
            "schema_version": SCHEMA_VERSION,
            "title": self.title,
            "verdict": self.in_words(),
            "closes": self.closes,
            "leaks": [vars(left) | {"adversary": list(left.adversary)} for left in self.leaks],
            "remedies": [one.to_json() for one in self.remedies],
            "points": [vars(point) for point in self.points],
            "metric": self.metric,
            "baseline": self.baseline,
            "n_audits": self.n_audits,
            "n_ruled_out_by_theory": self.n_ruled_out,
            "n_not_runnable": self.n_refused,
            "notes": list(self.notes),
            "interrupted": self.interrupted,
        }


def base_of(scenario: Scenario) -> Scenario:
    """What is mended: without the defenses that it tries, and against every attack that applies: a change that stops
    the attacks that somebody happened to name is no remedy."""
    adversaries = tuple(dict.fromkeys(replace(one, attacks=()) for one in scenario.adversaries))
    return replace(scenario, defenses=(), adversaries=adversaries)


def by_kind(search: Search) -> dict[tuple[str, ...], list[Measured]]:
    """What lowers the leak and leaves a useful model, the best first in each kind and among kinds. Variants of one
    change that closes are one kind."""
    kinds: dict[tuple[str, ...], list[Measured]] = {}
    for one in sorted(search.found[1:], key=search.merit, reverse=True):
        if not search.is_ruined(one) and one.total < search.first.total:
            kinds.setdefault(search.kind(one), []).append(one)
    return kinds


def confirmed(search: Search, bench: Bench, progress: Progress) -> Iterator[Remedy]:
    """Each audited once more under the bench's fresh key; where the best of a kind was lucky, the next of it is tried.

    Among three there is one by a protocol that really runs, where one closes.
    """
    kinds = by_kind(search)
    progress.begin("audits under a fresh key", min(MOST_CONFIRMED, len(kinds)))
    told: list[Remedy] = []
    n_left = MOST_CONFIRMED
    for place, tried in enumerate(kinds.values()):
        if len(told) == MOST - 1 and all(one.change.ideal for one in told) and _is_real_among(kinds, place):
            continue
        for one in tried[: min(MOST_OF_A_KIND, n_left)]:
            n_left -= 1
            again = bench.measure(one.scenario, bench.planned(one.scenario), search.leaks)
            progress.advance()
            if (again.closes or not one.closes) and not search.is_ruined(again):
                told.append(remedy_of(change_of(search.base, one), again, search.first.worth, confirmed=True))
                yield told[-1]
                break
        if len(told) == MOST or not n_left:
            return


def _is_real_among(kinds: dict[tuple[str, ...], list[Measured]], place: int) -> bool:
    """Whether this one is ideal functionality alone, and one that closes and is not comes later."""
    here, *later = list(kinds.values())[place:]
    real = (tried[0].closes and not tried[0].scenario.settings.ideal_choices for tried in later)
    return bool(here[0].scenario.settings.ideal_choices) and any(real)


def change_of(base: Scenario, one: Measured) -> Change:
    there = {party.name for party in base.parties}
    return Change(
        changed_keys(base, one.scenario),
        edit_text(base, one.scenario),
        one.scenario,
        one.scenario.settings.ideal_choices,
        tuple(party.name for party in one.scenario.parties if party.name not in there),
    )


def advice_of(
    search: Search, remedies: Sequence[Remedy], notes: tuple[str, ...], *, interrupted: bool = False
) -> Advice:
    first = search.first
    front = {id(one) for one in pareto(search.found)}
    leaks = remedy_of(change_of(search.base, first), first, first.worth, confirmed=False).leak_left
    return Advice(
        search.base.title,
        leaks,
        tuple(sorted(remedies, key=_rank)),
        tuple(
            Point(edit_text(search.base, one.scenario), one.leak, one.worth.value, one.closes, id(one) in front)
            for one in search.found
            if one.worth is not None
        ),
        first.worth.metric if first.worth else None,
        first.worth.baseline if first.worth else None,
        len(search.found),
        search.n_ruled_out,
        search.n_refused,
        (*notes, *_warning(first)),
        interrupted,
    )


def _warning(first: Measured) -> Iterator[str]:
    if first.worth is not None and first.worth.worthless:
        yield f"the model as it is, is {first.worth.worthless}: {NO_JUDGE}"


def _rank(one: Remedy) -> tuple[bool, bool, float, float]:
    useful = float("-inf") if one.cost.after is None else one.cost.after.value
    return not one.closes, bool(one.change.further_parties), one.leak, -useful
