"""Promises held against what happened: "exact" and "recovered" must be right to the last cell, "impossible" must not
leak. Theory speaks twice, as ``check`` before anybody shows data and as the audit's plan with them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fedleak.attacks.predictions.prediction_case import read_case
from fedleak.attacks.residuals.batch_systems import RANK_TOLERANCE, batch_systems
from fedleak.attacks.residuals.sign_system_labels import SignSystemLabels
from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.planner import PlannedRun, Task, plan_audit, plan_check
from fedleak.auditing.scenario import AdversarySpec, Scenario
from fedleak.auditing.scenario_file import load_scenario
from fedleak.core.adversary import Capability, SecretKind
from fedleak.core.attack import Guess, Status, Verdict
from fedleak.core.errors import FedleakError, InputError
from fedleak.core.finding import Outcome
from fedleak.core.knowledge import Knowledge
from fedleak.core.view import View
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.truth import SecretValues
from fedleak.metrics.cell_metrics import are_classes
from fedleak.metrics.metric import Answered
from fedleak.models.score_models import LinearModel, Link
from fedleak.testing.random_scenarios import LEFT_OUT, TABLE, RandomScenario
from fedleak.trial.attempt import Attempt, Failure, scored
from fedleak.trial.decide import decide
from fedleak.trial.play import Played, play

PRECISE = 0.01  # of a column's range: the common figure of a cell that is recovered
REPEATS = 5  # runs that decide on a leak, as in an audit


@dataclass(frozen=True)
class Broken:
    """A promise that was not kept."""

    seed: int
    claim: str
    attack: str
    adversary: tuple[str, ...]
    secret: str
    defense: str | None
    detail: str

    def __str__(self) -> str:
        who, under = " + ".join(self.adversary), f" under {self.defense}" if self.defense else ""
        return f"seed {self.seed}: {self.claim}: {self.attack} by {who} on {self.secret}{under}: {self.detail}"


@dataclass(frozen=True)
class Examined:
    """What came of one scenario; ``counts`` has an entry for each (attack, what was claimed)."""

    protocol: str
    broken: tuple[Broken, ...]
    counts: Counter[tuple[str, str]]
    refused: str = ""  # why the scenario is none: a table that a partition cannot deal out, for instance


def examine(drawn: RandomScenario) -> Examined:
    with TemporaryDirectory() as folder:
        Path(folder, TABLE).write_text(drawn.table, encoding="utf-8")
        path = Path(folder, "scenario.toml")
        path.write_text(drawn.toml, encoding="utf-8")
        return examine_scenario(load_scenario(path), drawn.protocol, drawn.seed)


def examine_scenario(scenario: Scenario, protocol: str, seed: int) -> Examined:
    counts: Counter[tuple[str, str]] = Counter()
    try:
        planned = plan_audit(scenario)
        expected = {_key(run, task): task for run in plan_check(scenario) for task in run.tasks}
    except InputError as error:
        return Examined(protocol, (), counts, str(error))
    broken = [
        found for run in planned for found in _examined_run(run, expected, Randomness.published(seed), seed, counts)
    ]
    return Examined(protocol, tuple(broken), counts)


def _key(run: PlannedRun, task: Task) -> tuple[object, ...]:
    return (run.defense.label if run.defense else None, task.adversary, task.attack.name, str(task.target))


def _examined_run(
    run: PlannedRun,
    expected: dict[tuple[object, ...], Task],
    randomness: Randomness,
    seed: int,
    counts: Counter[tuple[str, str]],
) -> list[Broken]:
    tasks = [task for task in run.tasks if task.skip is None and task.attack.name not in LEFT_OUT]
    if not tasks:
        return []
    runs = _Runs(run, randomness)
    try:
        runs.played(0)
    except FedleakError:  # a training that diverges, or numbers that the fixed point has no room for: told, no run
        counts.update([("run", "refused")])
        return []
    counts.update([("run", "played")])
    found = []
    for task in tasks:
        verdicts = {task.prediction.verdict}
        if (before := expected.get(_key(run, task))) is not None and before.skip is None:
            verdicts.add(before.prediction.verdict)
        attempt = runs.attempt(task, 0)
        if attempt is None:
            continue
        status = attempt.result.status.value if isinstance(attempt.result, Guess) else "failed"
        counts.update([(task.attack.name, status), *((task.attack.name, f"expected {one.value}") for one in verdicts)])
        for claim, detail in _unkept(run, task, attempt, verdicts, runs):
            label = run.defense.label if run.defense else None
            who = task.adversary.parties
            found.append(Broken(seed, claim, task.attack.name, who, str(task.target), label, detail))
    return found


@dataclass
class _Runs:
    """The runs of one plan, each played when it is asked for."""

    planned: PlannedRun
    randomness: Randomness

    def __post_init__(self) -> None:
        self._played: dict[int, Played] = {}
        self._knowledge: dict[AdversarySpec, Knowledge] = {}  # the same in all runs; to find steps takes a while

    def played(self, number: int) -> Played:
        if number not in self._played:
            plan = self.planned
            self._played[number] = play(
                plan.federation,
                self.randomness.again(number),
                defense=plan.defense,
                deviation=plan.dishonest,
                deviating=plan.deviating,
            )
        return self._played[number]

    def _known(self, adversary: AdversarySpec, played: Played) -> Knowledge:
        if adversary not in self._knowledge:
            rng = self.randomness.public("knowledge", *adversary.parties)
            self._knowledge[adversary] = draw_knowledge(adversary.knowledge, played.federation, adversary.parties, rng)
        return self._knowledge[adversary]

    def attempt(self, task: Task, number: int) -> Attempt | None:
        """None where the adversary knows every cell beforehand."""
        played, coalition = self.played(number), task.adversary.parties
        knowledge = self._known(task.adversary, played)
        if task.target.kind in (SecretKind.FEATURES, SecretKind.RANGES) and knowledge.cells:
            truth = played.run.truth.of(task.target)
            if knowledge.cell_mask(task.target.owner, truth.ids, truth.cell_shape).all():
                return None
        return played.attempt(task.attack, coalition, task.target, knowledge, scores=False, isolated=False)

    def scored(self, task: Task, number: int) -> Attempt | None:
        """With scores, which most claims can do without and which take most of the time."""
        attempt = self.attempt(task, number)
        truth = self.played(number).run.truth
        return None if attempt is None else scored(attempt, truth, self.randomness.public("bootstrap"))


def _unkept(
    run: PlannedRun, task: Task, attempt: Attempt, verdicts: set[Verdict], runs: _Runs
) -> list[tuple[str, str]]:
    result = attempt.result
    if isinstance(result, Failure):
        return [] if result.skipped else [("errored", result.why)]
    wrong = wrong_cells(attempt, runs.played(0).run.truth.of(task.target))
    found = []
    if result.status is Status.RECOVERED and wrong:
        found.append(("wrong recovered", f"{wrong}; it says: {result.why}"))
    if result.certificate and wrong and not wrong.endswith(MISSING):
        found.append(("wrong certificate", f"{wrong}; it says: {result.certificate}"))
    if Verdict.EXACT in verdicts and wrong and in_general_position(attempt, runs.played(0)):
        found.append(("wrong exact", f"{wrong}; {result.status.value}: {result.why}"))
    answers = np.isfinite(result.values).any()
    if Verdict.IMPOSSIBLE in verdicts and answers and (leak := _leak(run, task, runs)):
        found.append(("wrong impossible", leak))
    return found


MISSING = "cells are missing"


def in_general_position(attempt: Attempt, played: Played) -> bool:
    """What theory assumes and says so: of the adversary's own rows as many are independent in a batch as can be, and so
    are the equations of a served linear model, in which a constant column has no weight."""
    if attempt.attack.requires >= {Capability.LINEAR_MODEL, Capability.PREDICTIONS}:
        return _independent_equations(played.view(attempt.coalition, attempt.target, attempt.knowledge))
    if not attempt.attack.requires >= {Capability.OWN_GRADIENT, Capability.BATCH_IDS}:
        return True
    systems = list(batch_systems(played.view(attempt.coalition, attempt.target, attempt.knowledge)))
    if attempt.attack is SignSystemLabels:  # sums of values that recur are reached by several choices of signs
        return all(len(np.unique(np.abs(column).round(9))) == len(column) for one in systems for column in one.rows.T)
    return all(np.linalg.matrix_rank(one.rows, tol=RANK_TOLERANCE) == min(one.rows.shape) for one in systems)


def _independent_equations(view: View) -> bool:
    case = read_case(view)
    if not isinstance(case.model, LinearModel):
        return True
    weights = case.model.weights[:, case.unknown_positions]
    outputs = weights - weights[0] if case.model.link is Link.SOFTMAX else weights
    return bool(np.linalg.matrix_rank(outputs, tol=RANK_TOLERANCE) == case.n_unknown)


def wrong_cells(attempt: Attempt, truth: SecretValues) -> str:
    """What of the secret the answer does not have right; empty where it has all of it, or there is nothing to have."""
    if not truth.values.size:
        return ""
    if not np.isfinite(attempt.guess.values).any():
        return "there is no answer"
    cells = Answered(attempt.guess, truth, attempt.knowledge, attempt.attack.up_to).answers[0]
    missing = int(np.isnan(cells).sum())
    if missing:
        return f"{missing} of {cells.size} {MISSING}"
    exact = attempt.target.kind is SecretKind.LABELS and are_classes(truth.values)
    spread = np.where(truth.highest > truth.lowest, truth.highest - truth.lowest, 1.0)
    off = np.abs(cells - truth.values) / spread
    n_wrong = int((off > (0.0 if exact else PRECISE)).sum())
    return f"{n_wrong} of {cells.size} cells are wrong, by up to {float(off.max()):.2g} of the range" if n_wrong else ""


def _leak(run: PlannedRun, task: Task, runs: _Runs) -> str:
    """A leak of one run is confirmed on as many as an audit decides on: luck is no leak."""
    question = task.question(run.defense.label if run.defense else None)
    first = runs.scored(task, 0)
    if first is None or decide(question, [first]).outcome is not Outcome.LEAK:
        return ""
    further = [runs.scored(task, number) for number in range(1, REPEATS)]
    finding = decide(question, [first, *(one for one in further if one is not None)])
    if finding.outcome is not Outcome.LEAK or finding.score is None:
        return ""
    score = finding.score
    return f"{score.metric} {score.value:.3g}, baseline {score.baseline:.3g}: {finding.why}"
