"""Pieces of work: some seeds of one stage's cell, or of one control; all attacks of a stage on the same runs."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, partial

from fedleak.auditing.planner import PlannedRun, Task, plan
from fedleak.calibration.control_runs import control_situations
from fedleak.calibration.populations import POPULATIONS
from fedleak.calibration.stage import Stage
from fedleak.calibration.stages import stage_named
from fedleak.calibration.tally import Tally
from fedleak.calibration.twins import Trials, draw_twins
from fedleak.core.errors import RunError, in_one_line, show_traceback
from fedleak.core.finding import Finding, Outcome
from fedleak.testing.situations import Situation
from fedleak.trial.attempt import Attempt
from fedleak.trial.decide import Question, decide, unanswered

Decision = Callable[[Question, Sequence[Attempt]], Finding]


@dataclass
class Count:
    """Of one attack's decisions, as they come."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    failures: dict[str, None] = field(default_factory=dict)
    cpu_seconds: float = 0.0

    def add(self, decision: Decision, question: Question, attempts: Callable[[], Sequence[Attempt]]) -> None:
        """Whatever an attack or its scoring raises is a failure of this one, as in an audit."""
        began = time.process_time()
        try:
            finding = decision(question, attempts())
        except Exception as error:
            show_traceback(error)
            finding = unanswered(question, Outcome.ERRORED, in_one_line(error))
        self.cpu_seconds += time.process_time() - began
        self.outcomes[finding.outcome] += 1
        if finding.outcome is Outcome.ERRORED:
            self.failures[finding.why] = None

    def fail(self, error: RunError) -> None:
        """As an audit does, where a run fails."""
        self.outcomes[Outcome.ERRORED] += 1
        self.failures[f"the run failed: {error}"] = None

    def tally(self, attack: str, table: str, n: int) -> Tally:
        return Tally(attack, table, n, dict(self.outcomes), tuple(self.failures), self.cpu_seconds)


@dataclass(frozen=True, kw_only=True)
class Block(ABC):
    first: int
    count: int
    repeats: int

    @property
    def seeds(self) -> range:
        return range(self.first, self.first + self.count)

    @property
    def key(self) -> dict[str, object]:
        return {"kind": type(self).__name__, **asdict(self)}

    @property
    @abstractmethod
    def leaks(self) -> bool:
        """Whether there is something to find."""

    @abstractmethod
    def measured(self, decision: Decision = decide) -> list[Tally]: ...


@dataclass(frozen=True, kw_only=True)
class StageBlock(Block):
    stage: str
    table: str
    n: int
    attacks: tuple[str, ...]

    @property
    def leaks(self) -> bool:
        return stage_named(self.stage).leaks

    def measured(self, decision: Decision = decide) -> list[Tally]:
        stage = stage_named(self.stage)
        counts = {name: Count() for name in self.attacks}
        for seed in self.seeds:
            for planned, tasks in self._open_tasks():
                self._add(counts, decision, (stage, planned, seed), tasks)
        shown = stage.shown(self.table)
        return [count.tally(name, shown, self.n) for name, count in counts.items() if count.outcomes]

    def _open_tasks(self) -> Iterator[tuple[PlannedRun, list[Task]]]:
        for planned in planned_runs(self.stage, self.table, self.n):
            tasks = [task for task in planned.tasks if task.skip is None and task.attack.name in self.attacks]
            if tasks:
                yield planned, tasks

    def _add(
        self, counts: Mapping[str, Count], decision: Decision, run: tuple[Stage, PlannedRun, int], tasks: list[Task]
    ) -> None:
        stage, planned, seed = run
        twins = draw_twins(stage, POPULATIONS[self.table], self.n, seed)
        try:
            trials = Trials(stage, planned, twins, tasks=tasks, seed=seed, repeats=self.repeats)
        except RunError as error:
            for task in tasks:
                counts[task.attack.name].fail(error)
            return
        rightly = partial(_rightly, decision, stage)
        for task in tasks:
            attempts = partial(trials.attempts, task, brief=not stage.leaking)  # columns that have to be named are told
            counts[task.attack.name].add(rightly, task.question(None), attempts)


def _rightly(decision: Decision, stage: Stage, question: Question, attempts: Sequence[Attempt]) -> Finding:
    """A leak that is found in the wrong column is not found."""
    found = decision(question, attempts)
    wrong = stage.leaking and found.outcome is Outcome.LEAK and found.leaking_columns != stage.leaking
    return replace(found, outcome=Outcome.NO_LEAK) if wrong else found


@lru_cache(maxsize=64)
def planned_runs(stage: str, table: str, n: int) -> tuple[PlannedRun, ...]:
    """What an audit would plan there; it does not depend on what the cells hold."""
    place = stage_named(stage)
    federation = draw_twins(place, POPULATIONS[table], n, 0).seen
    defenses = (place.defense,) if place.defense else ()
    adversary = place.adversary_at(table)
    runs = plan(federation, (adversary,), defenses, parties=federation.party_facts, n_rows=federation.n_rows)
    return tuple(run for run in runs if run.defense is place.defense)


@dataclass(frozen=True, kw_only=True)
class ControlBlock(Block):
    attack: str
    control: str

    leaks = True

    def measured(self, decision: Decision = decide) -> list[Tally]:
        count, n = Count(), 0
        for seed in self.seeds:
            cases = control_situations(self.attack, self.control, seed=seed, repeats=self.repeats)
            question, n = cases[0].task.question(None), len(cases[0].truth.ids)
            count.add(decision, question, partial(_attempts, cases))
        return [count.tally(self.attack, f"control {self.control}", n)]


def _attempts(cases: Sequence[Situation]) -> list[Attempt]:
    return [case.attempt(isolated=False, brief=True) for case in cases]
