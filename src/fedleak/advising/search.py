"""The search: from the scenario as it is, change by change, to one that closes every leak with the most useful model.

Theory goes first: a change that leaves every leak exact by a theorem is not run. Of a change with levels the strongest
is tried, and where it closes, the weakest that does is found by bisection. Around what closes, every setting is tried a
step either way for a model that is worth more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fedleak.advising.candidate_lines import Line, lines, steps
from fedleak.advising.kept_out_columns import without_columns
from fedleak.advising.measured import Bench, Measured, exact_questions
from fedleak.auditing.planner import PlannedRun
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_edit import changed_keys
from fedleak.auditing.scenario_file import scenario_json
from fedleak.core.errors import InputError
from fedleak.core.finding import Finding
from fedleak.trial.progress import Progress

N_PARENTS = 2  # changed further in a round
N_ROUNDS = 6
MOST_LONGER = 4  # times the rounds of training: what takes longer is a price that no figure here has
Merit = tuple[bool, bool, float, float, int, float]


@dataclass(eq=False)
class Search:
    """``run`` may be ended at any time: ``found`` has everything that was measured until then."""

    base: Scenario  # without defenses, every attack that applies
    bench: Bench
    progress: Progress
    most: int  # audits
    found: list[Measured] = field(default_factory=list)
    n_ruled_out: int = 0  # by theory, without a run
    n_refused: int = 0  # changes that the data or the protocol do not allow, or that train for too long
    _known: dict[str, Measured | None] = field(default_factory=dict)
    _expanded: list[Measured] = field(default_factory=list)
    leaks: tuple[Finding, ...] = ()  # of the scenario as it is
    _kinds: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def run(self) -> None:
        self.progress.begin("audits of changed scenarios", None)  # how many fit the time nobody knows
        first = self.bench.measure(self.base, self.bench.planned(self.base), ())
        self.found.append(first)
        self._known[_named(self.base)] = first
        self.leaks = tuple(finding for finding in first.report.findings if finding.is_shown)
        self.progress.advance()
        for _ in range(N_ROUNDS if self.leaks else 0):
            parents = self._parents()
            for parent in parents:
                self._expanded.append(parent)
                self._expand(parent)
            if not parents or len(self.found) >= self.most:
                return

    @property
    def first(self) -> Measured:
        return self.found[0]

    def kind(self, one: Measured) -> tuple[str, ...]:
        """The names of what was changed when it first closed the leak; what was changed after that is a variant."""
        return self._kinds.get(id(one), ())

    def merit(self, one: Measured) -> Merit:
        """A model that is worth nothing closes leaks by being nothing."""
        closes = one.closes and not self.is_ruined(one)
        useful = one.usefulness
        # A point of usefulness is within the luck of a few trainings: the shorter change is worth as much. Parties that
        # are not there yet nobody can paste into a file.
        n_changed = len(changed_keys(self.base, one.scenario))
        at_hand = len(one.scenario.parties) <= len(self.base.parties)
        return closes, at_hand, -round(one.total, 3), round(useful, 2), -n_changed, useful

    def is_ruined(self, one: Measured) -> bool:
        """No better than a blind guess, or none at all since training overflows, where the model was better before."""
        judge = self.first.worth is not None and not self.first.worth.worthless
        return judge and (one.worth is None or bool(one.worth.worthless))

    def _parents(self) -> list[Measured]:
        """The best that were not changed further yet; none where the best of all was: nothing is near it any more."""
        ranked = sorted(self.found, key=self.merit, reverse=True)
        if ranked[0] in self._expanded and ranked[0].closes:
            return []
        fresh = [one for one in ranked if one not in self._expanded and not self.is_ruined(one)]
        return fresh[:N_PARENTS]

    def _expand(self, parent: Measured) -> None:
        for line in steps(parent.scenario) if parent.closes else self._lines(parent):
            if len(self.found) >= self.most:
                return
            self._bisect(parent, line)

    def _lines(self, parent: Measured) -> Iterator[Line]:
        federation = self.bench.planned(parent.scenario)[0].federation
        for finding in parent.left:
            fewer = without_columns(
                parent.scenario, federation, self.bench.table, finding.secret.owner, finding.leaking_columns
            )
            if fewer is not None:
                yield (fewer,)
        yield from lines(parent.scenario, federation)

    def _bisect(self, parent: Measured, line: Line) -> None:
        """The strongest first; between it, where it closes, and what does not, the weakest that closes."""
        high = len(line) - 1
        strongest = self._tried(parent, line[high])
        if strongest is None or not strongest.closes:
            return
        low = -1
        while high - low > 1 and len(self.found) < self.most:
            middle = (low + high) // 2
            tried = self._tried(parent, line[middle])
            low, high = (low, middle) if tried is not None and tried.closes else (middle, high)

    def _tried(self, parent: Measured, scenario: Scenario) -> Measured | None:
        """None where it cannot be run, or where theory says that it closes nothing."""
        name = _named(scenario)
        if name not in self._known:
            self._known[name] = self._measured(parent, scenario)
        return self._known[name]

    def _measured(self, parent: Measured, scenario: Scenario) -> Measured | None:
        try:
            runs = self.bench.planned(scenario)
            self._check_length(runs)
            certain = exact_questions(self.bench.planned(parent.scenario))
            if certain and certain <= exact_questions(runs):
                self.n_ruled_out += 1
                return None
            measured = self.bench.measure(scenario, runs, self.leaks)
        except InputError:
            self.n_refused += 1
            return None
        self.found.append(measured)
        own = changed_keys(self.base, scenario)
        self._kinds[id(measured)] = self.kind(parent) if parent.closes and measured.closes else own
        self.progress.advance()
        return measured

    def _check_length(self, runs: Sequence[PlannedRun]) -> None:
        most = self.bench.planned(self.base)[0].n_rounds
        wanted = runs[0].n_rounds
        if most and wanted and wanted > MOST_LONGER * most:
            raise InputError(f"training must take at most {MOST_LONGER * most} rounds; got {wanted}")


def _named(scenario: Scenario) -> str:
    return json.dumps(scenario_json(scenario), sort_keys=True, default=str)


def pareto(found: list[Measured]) -> list[Measured]:
    """What nothing else beats in both: less leak at no less usefulness. From the least leak to the most useful."""
    front: list[Measured] = []
    for one in sorted(found, key=lambda one: (one.leak, -one.usefulness)):
        if one.worth is not None and (not front or one.usefulness > front[-1].usefulness):
            front.append(one)
    return front
