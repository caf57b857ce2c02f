"""Work through a plan: run the protocol for each planned run, then every attack on what its adversary saw."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from hashlib import sha256

from fedleak.auditing.advisor import advice
from fedleak.auditing.declared_data import draw_knowledge
from fedleak.auditing.planner import NOTHING_LEFT, OF_CELLS, PlannedRun, Task, attacks_for_other_protocols
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import defense_label, scenario_json
from fedleak.core.errors import (
    FedleakError,
    InputError,
    MissingExtraError,
    MissingFromViewError,
    NotReplayableError,
    in_one_line,
    show_traceback,
)
from fedleak.core.finding import Finding, Outcome, Report, RunSummary
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.protocol import Protocol
from fedleak.core.whole.run import Run, Sink
from fedleak.protocols import PROTOCOLS
from fedleak.trial.decide import judge, unscored
from fedleak.trial.progress import Progress, WatchedSink
from fedleak.trial.provenance import environment
from fedleak.trial.randomness import attack_stream, stream

SinkFactory = Callable[[str], Sink]


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
    ) -> None:
        """``protocol`` runs in place of the scenario's as it is registered: one that serves an object, for instance."""
        self._scenario = scenario
        self._protocol = protocol or PROTOCOLS.get(scenario.protocol)()
        self._runs = runs
        self._sink_for = sink_for
        self._progress = progress
        self._summaries: list[RunSummary] = []
        self._findings: dict[Task, Finding] = {}
        self.failed = False

    def run(self) -> None:
        """Everything that is planned. Input that a run refuses ends the audit; any other failure becomes a finding."""
        for planned in self._runs:
            self._skip_inapplicable(planned)
            open_tasks = [task for task in planned.tasks if task.skip is None]
            if open_tasks:
                self._one_run(planned, open_tasks)

    def report(self, *, unfinished: str = "not reached", command: str | None = None) -> Report:
        """All findings so far; what is still open counts as skipped, for the reason given."""
        findings = []
        for planned, task in self._tasks():
            open_task = unscored(task, _label(planned), Outcome.SKIPPED, unfinished)
            findings.append(self._findings.get(task, open_task))
        settings = self._scenario.settings
        return Report(
            scenario=scenario_json(self._scenario),
            environment=environment(
                seed=self._scenario.seed,
                command=command,
                **{name: getattr(settings, name) for name in _SHOWN if hasattr(settings, name)},
            ),
            runs=tuple(self._summaries),
            findings=tuple(findings),
            advice=advice(findings, [task for _, task in self._tasks()]),
            for_other_protocols=attacks_for_other_protocols(self._scenario.protocol, self._scenario.adversaries),
        )

    def _tasks(self) -> list[tuple[PlannedRun, Task]]:
        return [(planned, task) for planned in self._runs for task in planned.tasks]

    def _skip_inapplicable(self, planned: PlannedRun) -> None:
        for task in planned.tasks:
            if task.skip is not None:
                self._findings[task] = unscored(task, _label(planned), Outcome.SKIPPED, task.skip)

    def _one_run(self, planned: PlannedRun, tasks: Sequence[Task]) -> None:
        label = _label(planned)
        try:
            run, summary = self._train(planned)
        except InputError:
            raise
        except Exception as error:  # a defect of one run must not lose the findings of the others
            self._note_failure(error)
            why = f"the run failed: {error if isinstance(error, FedleakError) else in_one_line(error)}"
            self._findings.update({task: unscored(task, label, Outcome.ERRORED, why) for task in tasks})
            return
        self._summaries.append(summary)
        self._progress.begin(f"attacks, {label or 'no defense'}", len(tasks))
        for task in tasks:
            self._findings[task] = self._attack(planned, task, run)
            self._progress.advance()

    def _train(self, planned: PlannedRun) -> tuple[Run, RunSummary]:
        began = time.perf_counter()
        federation, label = planned.federation, _label(planned)
        name = label or "no-defense"
        if planned.deviation:
            name += f"-{planned.deviation}-by-{planned.deviating}"
        self._progress.begin(f"{federation.protocol}, {name}", planned.n_rounds)
        with WatchedSink(self._sink_for(_folder_name(name)), self._progress) as sink:
            # The same stream for every run: runs differ by their defense and deviation, not by luck.
            run = self._protocol.run(
                federation, rng=stream(self._scenario.seed, "protocol"), hooks=planned.hooks, sink=sink
            )
        seconds = time.perf_counter() - began
        notes = run.notes + (planned.defense.notes(federation) if planned.defense else ())
        return run, RunSummary(label, planned.deviation, dict(run.utility), seconds, notes)

    def _attack(self, planned: PlannedRun, task: Task, run: Run) -> Finding:
        seed, label = self._scenario.seed, _label(planned)
        coalition = task.adversary.parties
        knowledge_rng = stream(seed, "knowledge", *coalition)
        began = time.perf_counter()
        try:
            knowledge = draw_knowledge(task.adversary.knowledge, planned.federation, coalition, knowledge_rng)
            if _all_known(task, run, knowledge):
                return unscored(task, label, Outcome.SKIPPED, NOTHING_LEFT)
            view = run.view(coalition, task.target, task.facts, knowledge=knowledge)
            guess = task.attack().run(view, rng=attack_stream(seed, task.attack.name, *coalition))
            seconds = time.perf_counter() - began
            return judge(task, label, guess, run.truth, knowledge, seconds, stream(seed, "bootstrap"))
        except (MissingExtraError, MissingFromViewError, NotReplayableError) as error:
            return unscored(task, label, Outcome.SKIPPED, str(error), time.perf_counter() - began)
        except Exception as error:  # an InputError too: what the scenario gets wrong was told before the runs
            self._note_failure(error)
            return unscored(task, label, Outcome.ERRORED, in_one_line(error), time.perf_counter() - began)

    def _note_failure(self, error: Exception) -> None:
        self.failed = True
        show_traceback(error)


def _all_known(task: Task, run: Run, knowledge: Knowledge) -> bool:
    """A share just below 1 may round to every cell of a small table; a plan without data cannot tell."""
    if task.target.kind not in OF_CELLS:
        return False
    values = run.truth.of(task.target)
    return bool(knowledge.cell_mask(task.target.owner, values.ids, len(values.columns)).all())


MAX_FOLDER_CHARS = 100
_SHOWN = ("cipher", "key_bits", "fraction_bits")


def _folder_name(name: str) -> str:
    """A name for a transcript's folder: names of parties come into it, with slashes or at any length."""
    safe = re.sub(r"[^\w()=., '-]", "_", name, flags=re.ASCII)[:MAX_FOLDER_CHARS]
    return safe if safe == name else f"{safe}-{sha256(name.encode()).hexdigest()[:8]}"


def _label(planned: PlannedRun) -> str | None:
    return defense_label(planned.defense) if planned.defense else None


MEASURED = frozenset({Outcome.LEAK, Outcome.NO_LEAK})
ANSWERED = MEASURED | {Outcome.NOT_IDENTIFIABLE}


def still_unknown(report: Report) -> str | None:
    """What would have to be known and is not: no measurement at all, or a question with undetermined answers alone.

    A question is a secret, who is after it, and under which defense.
    """
    if not any(finding.outcome in MEASURED for finding in report.findings):
        return "not one attack gave a measured outcome"
    answered = {_question(finding) for finding in report.findings if finding.outcome in ANSWERED}
    undetermined = [finding for finding in report.findings if finding.outcome is Outcome.UNDETERMINED]
    left = dict.fromkeys(_question(finding) for finding in undetermined if _question(finding) not in answered)
    return f"undetermined is {'; '.join(left)}" if left else None


def _question(finding: Finding) -> str:
    under = f" under {finding.defense}" if finding.defense else ""
    return f"what {' + '.join(finding.adversary)} ({finding.mode.value}) learns of {finding.secret}{under}"
