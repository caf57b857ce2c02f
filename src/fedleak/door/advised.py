"""Advice on a scenario: what to change so that the leak closes, tried by real audits."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedleak.advising.advice import MOST, Advice, advice_of, base_of, by_kind, change_of, confirmed
from fedleak.advising.measured import Bench
from fedleak.advising.remedy import Remedy, remedy_of
from fedleak.advising.search import Search
from fedleak.auditing.budget import budget_seconds
from fedleak.auditing.estimate import duration_words
from fedleak.auditing.frames import FrameOptions
from fedleak.auditing.means import REPEATS
from fedleak.core.errors import InputError, TimeSpentError
from fedleak.core.whole.randomness import RunKey
from fedleak.data import load_table
from fedleak.door.given import Given, given
from fedleak.door.told_progress import progress_of
from fedleak.trial.progress import Progress

if TYPE_CHECKING:
    from fedleak.door.given import Source

MOST_AUDITS = 120
USUAL_BUDGET = "10m"  # a hundred audits of a small table; of slow training the best of as many as fit
SEARCH_REPEATS = 3  # the fewest that tell a useful model's predictions from a leak, and decide by more than one run
CONFIRMED_MODELS = 10  # whose mean worth is told
FOR_SEARCH = 2 / 3  # of the time that is given; the rest is for audits that confirm
IDEAL_SEARCH = "the search ran under the ideal cipher, whose plaintexts are those of the real one"
OWN_CIPHER = "the audits that confirm have their first run under the scenario's own cipher"
ALL_ATTACKS = (
    "every attack that applies was tried, those that the scenario does not name too; its own defenses were not"
)


def advise(
    scenario: Source = None,
    *,
    budget: str = USUAL_BUDGET,
    max_audits: int = MOST_AUDITS,
    jobs: int | None = None,
    run_key: str | None = None,
    progress: Progress | Callable[[str], None] | None = None,
) -> Advice:
    """Search for changes that close the leaks of a scenario, and say what they cost the model.

    ``scenario`` as for ``audit``. Settings and defenses that fit the protocol are tried by real audits, of which
    ``max_audits`` bounds the number and ``budget`` the time. Up to three remedies come back, the best first;
    each was audited again under a fresh key. ``run_key`` makes the search, and what confirms it, repeatable.
    """
    found = sought(
        given(scenario, FrameOptions()),
        budget=budget,
        most=max_audits,
        jobs=jobs,
        key=None if run_key is None else RunKey.from_text(run_key),
        progress=progress_of(progress),
    )
    if found.interrupted is not None:
        raise found.interrupted
    return found.advice


@dataclass(frozen=True, eq=False)
class Sought:
    """Advice, also of a search that was ended from outside: the best that it had."""

    advice: Advice
    interrupted: KeyboardInterrupt | None = None


def sought(
    wanted: Given, *, budget: str, most: int, jobs: int | None, key: RunKey | None, progress: Progress
) -> Sought:
    if most < 2:
        raise InputError(f"max_audits must be at least 2, the scenario as it is and one change; got {most}")
    started = time.perf_counter()
    seconds = budget_seconds(budget)

    def until(share: float) -> float:
        return started + share * seconds

    base = base_of(wanted.scenario)
    table = wanted.table() or load_table(base.data, folder=base.folder)
    searched = key or RunKey.fresh()
    bench = Bench(base, table, searched, SEARCH_REPEATS, jobs, deadline=lambda: until(FOR_SEARCH))
    search = Search(base, bench, progress, most)
    fresh = RunKey.fresh() if key is None else key.next()
    again = replace(
        bench, key=fresh, repeats=REPEATS, deadline=lambda: until(1.0), ideal=False, n_models=CONFIRMED_MODELS
    )
    remedies: list[Remedy] = []
    notes = [IDEAL_SEARCH, OWN_CIPHER, ALL_ATTACKS] if hasattr(base.settings, "cipher") else [ALL_ATTACKS]
    searching = duration_words(FOR_SEARCH * seconds)
    progress.note(f"at most {most} audits in {searching}, then the best is confirmed ({budget} in all; see --budget)")
    try:
        try:
            search.run()
        except TimeSpentError:
            notes.append(
                f"the time for the search was spent before everything was tried; --budget gives more than {budget}"
            )
        if not search.found:
            raise InputError(f"--budget must leave time for one audit of the scenario; got {budget}")
        remedies.extend(confirmed(search, again, progress))
    except TimeSpentError:
        notes.append("the time was spent before every recommendation was confirmed")
    except KeyboardInterrupt as ended:
        if not search.found:
            raise
        found = remedies or _unconfirmed(search)
        return Sought(advice_of(search, found, tuple(notes), interrupted=True), ended)
    return Sought(advice_of(search, remedies or _unconfirmed(search), tuple(notes)))


def _unconfirmed(search: Search) -> list[Remedy]:
    """The best so far of each kind, told as what it is."""
    best = [tried[0] for tried in by_kind(search).values()][:MOST]
    return [remedy_of(change_of(search.base, one), one, search.first.worth, confirmed=False) for one in best]
