"""Work through a plan: run the protocol for each planned run, then every attack on what its adversary saw."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from fedleak.attacks import ATTACKS
from fedleak.auditing.advisor import advice, remedies
from fedleak.auditing.data_digest import data_digests
from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.estimate import assumptions, duration_words
from fedleak.auditing.kept import Kept
from fedleak.auditing.planner import (
    NOTHING_LEFT,
    OF_CELLS,
    PlannedRun,
    Task,
    attacks_for_other_protocols,
)
from fedleak.auditing.runs_ahead import RunsAhead, Standby, is_long
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import scenario_json
from fedleak.auditing.time_left import TIME_SPENT, TimeLeft
from fedleak.auditing.trainings import SinkFactory, Trainings
from fedleak.core.errors import FedleakError, InputError, TimeSpentError, in_one_line, show_traceback
from fedleak.core.finding import Finding, Outcome
from fedleak.core.knowledge import Knowledge
from fedleak.core.report import Remedy, Report, RunSummary
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness, RunKey
from fedleak.crypto.cores import cores, using
from fedleak.protocols import PROTOCOLS
from fedleak.trial.attempt import Attempt
from fedleak.trial.ceilings import with_ceiling
from fedleak.trial.conversation import Limits
from fedleak.trial.decide import Question, decide, unanswered
from fedleak.trial.isolation import can_isolate, shared_isolation
from fedleak.trial.luck import decide_together
from fedleak.trial.play import NO_LIMITS, Played
from fedleak.trial.progress import Progress, WatchedSink
from fedleak.trial.provenance import environment

REPEATS = 5  # runs that a finding is decided on: under noise the luck of a single one can pass for a leak
_SHOWN = ("cipher", "key_bits", "fraction_bits")
NOT_ISOLATED = "in the audit's own process, beside the data"


class Audit:
    """Work through a plan. ``report()`` is good at any time, so an interruption loses nothing."""

    def __init__(
        self,
        scenario: Scenario,
        runs: Sequence[PlannedRun],
        sink_for: SinkFactory,
        progress: Progress,
        *,
        protocol: Protocol | None = None,
        run_key: RunKey | None = None,
        jobs: int | None = None,
        isolated: bool = True,
        left_out: tuple[str, ...] | None = None,
        repeats: int = 1,
        limits: Limits = NO_LIMITS,
        kept: Kept | None = None,
        deadline: float | None = None,
        for_first_attacks: float = 0.0,
        reduced: tuple[str, ...] = (),
        standby: Standby | None = None,
    ) -> None:
        """``protocol`` runs in place of the scenario's as it is registered: one that serves an object, for instance.

        ``run_key`` repeats an audit; a fresh one by default. ``jobs``: attempts side by side, by default as many as
        there are cores. ``isolated`` False runs attacks in this process, one after the other, for a debugger.
        ``left_out`` names attacks that the plan left out, where the protocol's own say is not all. ``repeats``: runs
        that each finding is decided on; all but the first use the ideal cipher, whose plaintexts are the same, and have
        some labels redrawn. ``limits`` are of each attempt. ``kept`` takes everything as it is found, and what it has
        already is not tried again. After the ``deadline``, as ``time.perf_counter`` counts, nothing begins and attempts
        are ended; attacks on the first run have ``for_first_attacks`` seconds all the same, since a report without one
        answer is worth nothing. ``reduced`` says what was made smaller beforehand. ``standby``: processes that
        may train already.
        """
        if repeats < 1 or (repeats > 1 and PROTOCOLS.get(scenario.protocol).replays):
            raise InputError(f"repeats must be at least 1, and 1 for a run that took place elsewhere; got {repeats}")
        self._repeats = repeats
        self._left_out = left_out
        self._scenario = scenario
        self._randomness = Randomness(run_key or RunKey.fresh(), scenario.seed)
        self._trainings = Trainings(runs, self._randomness, protocol, sink_for, repeats)
        self._isolated = isolated and can_isolate()
        self._jobs = (jobs or os.cpu_count() or 1) if self._isolated else 1
        self._runs = runs
        self._progress = progress
        self._limits = limits
        self._kept = kept or Kept()
        self._time = TimeLeft(deadline, for_first_attacks)
        self._reduced = reduced
        self._standby = standby
        self._digests = data_digests(scenario, runs)
        self._places = {task: place for place, (_, task) in enumerate(self._tasks())}

    @property
    def run_key(self) -> RunKey:
        return self._randomness.key

    def run(self) -> None:
        """Everything that is planned. Input that a run refuses ends the audit; any other failure becomes a finding."""
        if self._isolated:
            shared_isolation().preload(task.attack for _, task in self._tasks() if task.skip is None)
        with self._ahead([place for place in range(len(self._runs)) if self._is_open(place)]) as ahead:
            for place in range(len(self._runs)):
                self._seconds_left()
                if self._is_open(place):
                    self._one_run(place, ahead)

    def _ahead(self, places: Sequence[int]) -> RunsAhead:
        """All but the first of the long ones with their further runs, on cores that would have nothing to do."""
        n_processes = min(self._jobs, cores()) - 1
        long = [place for place in places if is_long(self._runs[place])] if n_processes else []
        wanted = [(place, number) for place in long[1:] for number in range(self._n_runs(place))]
        return RunsAhead(
            wanted, self._trainings.stored, n_processes=n_processes, n_attempts=self._jobs, standby=self._standby
        )

    def _n_runs(self, place: int) -> int:
        """Where nothing is left to attack, one shows the price of a defense."""
        return self._repeats if self._missing(self._runs[place]) else 1

    def _is_open(self, place: int) -> bool:
        """A defense that leaves nothing to attack has its price too."""
        planned = self._runs[place]
        tried = planned.defense is not None or any(task.skip is None for task in planned.tasks)
        return bool(self._missing(planned)) or (tried and place not in self._kept.summaries)

    def _missing(self, planned: PlannedRun) -> list[Task]:
        wanted = [task for task in planned.tasks if task.skip is None]
        return [task for task in wanted if self._places[task] not in self._kept.findings]

    @property
    def open_places(self) -> tuple[int, ...]:
        """Of tasks that are still to be tried."""
        return tuple(
            place for task, place in self._places.items() if task.skip is None and place not in self._kept.findings
        )

    def report(self, *, unfinished: str = "not reached", command: str | None = None) -> Report:
        """All findings so far; what is still open counts as skipped, for the reason given."""
        findings = decide_together([self._finding(planned, task, unfinished) for planned, task in self._tasks()])
        by_theory = tuple(map(Remedy, remedies([task for _, task in self._tasks()])))
        settings = self._scenario.settings
        return Report(
            scenario=scenario_json(self._scenario),
            environment=environment(
                seed=self._scenario.seed,
                command=command,
                attacks="each in a process that held its view alone" if self._isolated else NOT_ISOLATED,
                **{name: getattr(settings, name) for name in _SHOWN if hasattr(settings, name)},
                **self._digests,
                **self._brought(),
            ),
            runs=tuple(summary for _, summary in sorted(self._kept.summaries.items())),
            findings=tuple(findings),
            remedies=advice(findings, by_theory),
            for_other_protocols=self._foreign() if self._left_out is None else self._left_out,
            run_key=str(self.run_key),
            repeats=self._repeats,
            interrupted=bool(self.open_places),
            reduced=self._reduced,
        )

    def _seconds_left(self) -> float | None:
        return self._time.seconds()

    def _foreign(self) -> tuple[str, ...]:
        return attacks_for_other_protocols(self._scenario.protocol, self._scenario.adversaries)

    def _brought(self) -> dict[str, str]:
        """Attacks that came with another package, with its version: who repeats the audit needs it."""
        names = dict.fromkeys(task.attack.name for _, task in self._tasks())
        brought = {name: ATTACKS.distribution(name) for name in names}
        found = [f"{name} of {distribution}" for name, distribution in brought.items() if distribution]
        return {"plug_ins": "; ".join(found)} if found else {}

    def _tasks(self) -> list[tuple[PlannedRun, Task]]:
        return [(planned, task) for planned in self._runs for task in planned.tasks]

    def _finding(self, planned: PlannedRun, task: Task, unfinished: str) -> Finding:
        """As it was found, or why it was not."""
        found = self._kept.findings.get(self._places[task])
        return found or unanswered(task.question(planned.label), Outcome.SKIPPED, task.skip or unfinished)

    def _one_run(self, place: int, ahead: RunsAhead) -> None:
        planned = self._runs[place]
        tasks, label = self._missing(planned), planned.label
        try:
            played = self._train(place, ahead)
            notes = played.run.notes + (planned.defense.notes(played.federation) if planned.defense else ())
            notes += assumptions(played.federation.settings, played.run.transcript.facts)
            again = [self._again(place, number, ahead) for number in range(1, self._n_runs(place))]
        except (InputError, TimeSpentError):
            raise
        except Exception as error:  # a defect of one run must not lose the findings of the others
            show_traceback(error)
            why = f"the run failed: {error if isinstance(error, FedleakError) else in_one_line(error)}"
            for task in tasks or planned.tasks:
                self._kept.add_finding(self._places[task], unanswered(task.question(label), Outcome.ERRORED, why))
            return
        utility, blind = dict(played.run.utility), dict(played.run.baselines)
        if place not in self._kept.summaries:
            summary = RunSummary(label, planned.deviation, utility, played.seconds, notes, blind)
            self._kept.add_summary(place, summary)
        if not self._kept.findings and self._time.extended():
            least = duration_words(self._time.for_first_attacks)
            self._progress.note(f"the run took longer than was foreseen; attacks on it have {least}")
        self._progress.begin(f"attacks, {label or 'no defense'}", len(tasks))
        self._attack_all(tasks, [played, *again], label, ahead)

    def _train(self, place: int, ahead: RunsAhead) -> Played:
        first = (place, 0)
        stored, begun = self._trainings.stored(first), ahead.is_begun(first)
        n_rounds = None if begun else self._runs[place].n_rounds
        self._progress.begin(f"{self._scenario.protocol}, {self._runs[place].name}", n_rounds)
        if (played := ahead.taken(first, self._seconds_left)) is not None:
            return played
        steps = PROTOCOLS.get(self._scenario.protocol).named_steps
        with WatchedSink(stored.sink, self._progress, steps) as sink, using(max(1, cores() - ahead.n_busy)):
            return stored.training.into(sink)

    def _again(self, place: int, number: int, ahead: RunsAhead) -> Played:
        training, redrawn = self._trainings.further((place, number))
        played = ahead.taken((place, number), self._seconds_left) or training.beside_others()
        return replace(played, canaries=redrawn)

    def _attack_all(self, tasks: Sequence[Task], runs: Sequence[Played], defense: str | None, ahead: RunsAhead) -> None:
        """Side by side: each attempt is a process of its own, and this one waits, answers and scores."""

        def attack(task: Task) -> Finding:
            with ahead.one_core():
                return self._attack(task, runs, defense)

        with ThreadPoolExecutor(self._jobs) as pool:
            running = {pool.submit(attack, task): task for task in tasks}
            try:
                for done in as_completed(running, self._seconds_left()):
                    self._kept.add_finding(self._places[running[done]], done.result())
                    self._progress.advance()
            except BaseException as ended:  # Ctrl-C: nobody waits for an attack of an hour
                pool.shutdown(wait=False, cancel_futures=True)
                for played in runs:
                    played.end()
                if isinstance(ended, TimeoutError):
                    raise TimeSpentError(TIME_SPENT) from ended
                raise

    def _attack(self, task: Task, runs: Sequence[Played], defense: str | None) -> Finding:
        """What ciphertexts look like is no question to further runs, which are under the ideal cipher."""
        one_run = PROTOCOLS.get(self._scenario.protocol).replays or task.attack.reads_bytes
        question = replace(task.question(defense), one_run=one_run)
        try:
            return self._decided(
                question, task, [self._attempt(task, played) for played in runs[: 1 if one_run else None]]
            )
        except Exception as error:  # an InputError too: what the scenario gets wrong was told before the runs
            show_traceback(error)
            return unanswered(question, Outcome.ERRORED, in_one_line(error))

    def _decided(self, question: Question, task: Task, attempts: Sequence[Attempt | None]) -> Finding:
        tried = [attempt for attempt in attempts if attempt is not None]
        if not tried:
            return unanswered(question, Outcome.SKIPPED, NOTHING_LEFT)
        canaries = [attempt.canaries for attempt in tried if attempt.canaries is not None]
        return with_ceiling(decide(question, tried), task.facts, canaries)

    def _attempt(self, task: Task, played: Played) -> Attempt | None:
        """None where the adversary knows everything already."""
        coalition = task.adversary.parties
        rng = self._randomness.public("knowledge", *coalition)
        knowledge = draw_knowledge(task.adversary.knowledge, played.federation, coalition, rng)
        if _all_known(task, played, knowledge):
            return None
        return played.attempt(
            task.attack,
            coalition,
            task.target,
            knowledge,
            limits=self._limits,
            isolated=self._isolated,
        )


def _all_known(task: Task, played: Played, knowledge: Knowledge) -> bool:
    """A share just below 1 may round to every cell of a small table; a plan without data cannot tell."""
    if task.target.kind not in OF_CELLS or not knowledge.cells:
        return False
    values = played.run.truth.of(task.target)
    return bool(knowledge.cell_mask(task.target.owner, values.ids, values.cell_shape).all())
