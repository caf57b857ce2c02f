"""Work through a plan: run the protocol for each planned run, then every attack on what its adversary saw."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from fedleak.attacks import ATTACKS
from fedleak.auditing.advisor import advice, remedies
from fedleak.auditing.attacking import Attacking
from fedleak.auditing.course import Course, Kind, Piece
from fedleak.auditing.data_digest import data_digests
from fedleak.auditing.estimate import assumptions, duration_words, n_ciphertexts
from fedleak.auditing.kept import Kept
from fedleak.auditing.means import ONE_RUN, Means
from fedleak.auditing.planner import PlannedRun, Task, attacks_for_other_protocols
from fedleak.auditing.runs_ahead import RunsAhead, is_long
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import scenario_json
from fedleak.auditing.time_left import TimeLeft
from fedleak.auditing.trainings import SinkFactory, Trainings
from fedleak.core.errors import FedleakError, InputError, TimeSpentError, in_one_line, show_traceback
from fedleak.core.finding import Finding, Outcome
from fedleak.core.report import Remedy, Report, RunSummary
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.randomness import Randomness, RunKey
from fedleak.crypto.cores import cores, using
from fedleak.protocols import PROTOCOLS
from fedleak.trial.decide import unanswered
from fedleak.trial.isolation import can_isolate, shared_isolation
from fedleak.trial.luck import decide_together
from fedleak.trial.play import Played
from fedleak.trial.progress import Progress, WatchedSink
from fedleak.trial.provenance import environment

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
        means: Means = ONE_RUN,
        *,
        protocol: Protocol | None = None,
        run_key: RunKey | None = None,
        left_out: tuple[str, ...] | None = None,
        kept: Kept | None = None,
        reduced: tuple[str, ...] = (),
    ) -> None:
        """``protocol`` runs in place of the scenario's as it is registered: one that serves an object, for instance.

        ``run_key`` repeats an audit; a fresh one by default. ``left_out`` names attacks that the plan left out, where
        the protocol's own say is not all. ``kept`` takes everything as it is found, and what it has already is not
        tried again. ``reduced`` says what was made smaller beforehand.
        """
        replays = PROTOCOLS.get(scenario.protocol).replays
        means.check(replays=replays)
        self._means = means
        self._left_out = left_out
        self._scenario = scenario
        self._randomness = Randomness(run_key or RunKey.fresh(), scenario.seed)
        self._trainings = Trainings(runs, self._randomness, protocol, sink_for, means.repeats)
        self._isolated = means.isolated and can_isolate()
        self._jobs = (means.jobs or os.cpu_count() or 1) if self._isolated else 1
        self._attacking = Attacking(self._randomness, means.limits, self._jobs, self._isolated, replays)
        self._runs = runs
        self._progress = progress
        self._kept = kept or Kept()
        self._time = TimeLeft(means.deadline, means.for_first_attacks)
        self._reduced = reduced
        self._digests = data_digests(scenario, runs)
        self._places = {task: place for place, (_, task) in enumerate(self._tasks())}

    @property
    def run_key(self) -> RunKey:
        return self._randomness.key

    def run(self) -> None:
        """Everything that is planned. Input that a run refuses ends the audit; any other failure becomes a finding."""
        if self._isolated:
            shared_isolation().preload(task.attack for _, task in self._tasks() if task.skip is None)
        places = [place for place in range(len(self._runs)) if self._is_open(place)]
        course = Course(self._progress, [piece for place in places for piece in self._pieces(place)])
        with self._ahead(places) as ahead:
            for place in places:
                self._seconds_left()
                course.reach(place)
                self._one_run(place, ahead, course)

    def _pieces(self, place: int) -> list[Piece]:
        """In the order in which ``_one_run`` begins them."""
        planned, n_runs = self._runs[place], self._n_runs(place)
        n_made = n_ciphertexts(planned)
        first = Piece(place, Kind.CIPHERTEXTS, n_made) if n_made else Piece(place, Kind.IDEAL_RUNS, 1)
        further = [Piece(place, Kind.IDEAL_RUNS, n_runs - 1)] if n_runs > 1 else []
        return [first, *further, Piece(place, Kind.ATTACKS, len(self._missing(planned)))]

    def _ahead(self, places: Sequence[int]) -> RunsAhead:
        """All but the first of the long ones with their further runs, on cores that would have nothing to do."""
        n_processes = min(self._jobs, cores()) - 1
        long = [place for place in places if is_long(self._runs[place])] if n_processes else []
        wanted = [(place, number) for place in long[1:] for number in range(self._n_runs(place))]
        return RunsAhead(
            wanted, self._trainings.stored, n_processes=n_processes, n_attempts=self._jobs, standby=self._means.standby
        )

    def _n_runs(self, place: int) -> int:
        """Where nothing is left to attack, one shows the price of a defense."""
        return self._means.repeats if self._missing(self._runs[place]) else 1

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
            repeats=self._means.repeats,
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

    def _one_run(self, place: int, ahead: RunsAhead, progress: Progress) -> None:
        planned = self._runs[place]
        tasks, label = self._missing(planned), planned.label
        try:
            played = self._train(place, ahead, progress)
            notes = played.run.notes + (planned.defense.notes(played.federation) if planned.defense else ())
            notes += assumptions(played.federation.settings, played.run.transcript.facts)
            again = self._again(place, ahead, progress)
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
            progress.note(f"the run took longer than was foreseen; attacks on it have {least}")
        progress.begin(f"attacks, {label or 'no defense'}", len(tasks))

        def found(task: Task, finding: Finding) -> None:
            self._kept.add_finding(self._places[task], finding)
            progress.advance()

        self._attacking.try_all(tasks, [played, *again], label, ahead, found, self._seconds_left)

    def _train(self, place: int, ahead: RunsAhead, progress: Progress) -> Played:
        first = (place, 0)
        stored, begun = self._trainings.stored(first), ahead.is_begun(first)
        n_rounds = None if begun else self._runs[place].n_rounds
        progress.begin(f"{self._scenario.protocol}, {self._runs[place].name}", n_rounds)
        if (played := ahead.taken(first, self._seconds_left)) is not None:
            return played
        steps = PROTOCOLS.get(self._scenario.protocol).named_steps
        with WatchedSink(stored.sink, progress, steps) as sink, using(max(1, cores() - ahead.n_busy)):
            return stored.training.into(sink)

    def _again(self, place: int, ahead: RunsAhead, progress: Progress) -> list[Played]:
        """All runs of a place but the first."""
        n_further = self._n_runs(place) - 1
        if n_further:
            progress.begin(f"further runs to decide on, {self._runs[place].name}", n_further)
        found = []
        for number in range(1, n_further + 1):
            training, redrawn = self._trainings.further((place, number))
            played = ahead.taken((place, number), self._seconds_left) or training.beside_others()
            found.append(replace(played, canaries=redrawn))
            progress.advance()
        return found
