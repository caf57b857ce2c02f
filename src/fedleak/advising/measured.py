"""One changed scenario, audited by the runner that every audit goes through, and held against the leaks there were."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from fedleak.advising.worth import SERVED_SHARE, Worth, worth_of
from fedleak.auditing.means import Means
from fedleak.auditing.planner import PlannedRun, plan_audit, under_ideal_cipher
from fedleak.auditing.runner import Audit
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.time_left import TIME_SPENT
from fedleak.auditing.trainings import in_memory
from fedleak.core.attack import Verdict
from fedleak.core.conclusion import ANSWERED, contradicts_theory
from fedleak.core.defended import Aim, Fate, aim, by_aim, fate
from fedleak.core.errors import RunError, TimeSpentError
from fedleak.core.finding import Finding, Mode, Outcome
from fedleak.core.report import Report
from fedleak.core.whole.randomness import Randomness, RunKey
from fedleak.core.whole.run import MemorySink
from fedleak.data.encoding import EncodedTable
from fedleak.trial.play import play
from fedleak.trial.progress import Silent

CLOSED = (Fate.STOPPED, Fate.RULED_OUT)


@dataclass(frozen=True, eq=False)
class Measured:
    """``left`` has the worst finding of each question that still leaks; ``open``, questions that got no answer."""

    scenario: Scenario
    report: Report
    left: tuple[Finding, ...]
    open: tuple[Aim, ...]
    closed: tuple[Aim, ...]  # of those that leaked before
    worth: Worth | None
    unmeasured: tuple[Aim, ...] = ()  # of those closed: no attack has anything left to work on, by a theorem

    @property
    def closes(self) -> bool:
        return not self.left and not self.open

    @property
    def leak(self) -> float:
        """The worst that is left: how far from a blind answer to the secret, 0 to 1; an open question may be all."""
        return max([1.0] * bool(self.open) + [learnt(finding) for finding in self.left], default=0.0)

    @property
    def total(self) -> float:
        """Over all questions: many small leaks are worse than one."""
        return len(self.open) + sum(learnt(finding) for finding in self.left)

    @property
    def usefulness(self) -> float:
        return float("-inf") if self.worth is None else self.worth.value


def learnt(finding: Finding) -> float:
    """Of a leak: by its worst column where columns were told apart, by its figure otherwise; all, where only proved."""
    columns = [one.learnt for one in finding.columns if one.leaks and one.learnt is not None]
    share = max(columns) if columns else finding.score.learnt if finding.score else 1.0
    return min(max(share, 0.01), 1.0)


@dataclass(frozen=True, eq=False)
class Bench:
    """Where scenarios are audited: the same table, key and number of runs for all of them."""

    base: Scenario  # what is to be mended
    table: EncodedTable
    key: RunKey
    repeats: int
    jobs: int | None = None
    deadline: Callable[[], float | None] = lambda: None
    ideal: bool = True  # every run under the ideal cipher, whose plaintexts are the same
    n_models: int = 5  # trained to say what the model is worth: under noise one alone is luck

    def planned(self, scenario: Scenario) -> tuple[PlannedRun, ...]:
        """Under its defense where it has one; without it everybody knows already."""
        runs = plan_audit(scenario, self.table)
        return tuple(run for run in runs if (run.defense is None) == (not scenario.defenses))

    def measure(self, scenario: Scenario, runs: Sequence[PlannedRun], before: Sequence[Finding]) -> Measured:
        """``before``: the leaks of the scenario that is to be mended."""
        report = self._audited(scenario, [under_ideal_cipher(run) for run in runs] if self.ideal else runs)
        found, leaked = _questions(report.findings, before), by_aim(before)
        # An attack for other protocols is not tried: this one never tells what it works on.
        before = [finding for finding in before if finding.attack not in report.for_other_protocols]
        closed = tuple(question for question in leaked if _is_closed(question, found, before))
        return Measured(
            scenario,
            report,
            left=tuple(_worst(tried) for tried in found.values() if any(f.is_shown for f in tried)),
            open=tuple(question for question, tried in found.items() if _is_open(question, tried, before)),
            closed=closed,
            worth=self._worth(scenario, under_ideal_cipher(runs[0])),
            unmeasured=tuple(one for one in closed if not any(f.outcome in ANSWERED for f in found[one])),
        )

    def _worth(self, scenario: Scenario, planned: PlannedRun) -> Worth | None:
        """The mean over several trainings in which nobody deviates and no label is redrawn."""
        randomness = Randomness(self.key, scenario.seed)
        try:
            figures = [self._trained(planned, randomness.again(number)) for number in range(self.n_models)]
        except TimeSpentError:
            raise
        except RunError:  # a model that overflows is none
            return None
        served = getattr(scenario.settings, SERVED_SHARE, 1.0) / getattr(self.base.settings, SERVED_SHARE, 1.0)
        return worth_of(_mean([one for one, _ in figures]), _mean([blind for _, blind in figures]), served)

    def _trained(self, planned: PlannedRun, randomness: Randomness) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Figures of one model beside blind ones."""
        end = self.deadline()
        if end is not None and time.perf_counter() > end:
            raise TimeSpentError(TIME_SPENT)
        return _figures(planned, randomness)

    def _audited(self, scenario: Scenario, runs: Sequence[PlannedRun]) -> Report:
        means = Means(repeats=self.repeats, jobs=self.jobs, deadline=self.deadline())
        audit = Audit(scenario, runs, in_memory, Silent(), means, run_key=self.key)
        audit.run()
        return audit.report()


def _figures(planned: PlannedRun, randomness: Randomness) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Alone: what was sent while a model was trained takes a hundred megabytes, and goes."""
    run = play(planned.federation, randomness, defense=planned.defense, sink=MemorySink()).run
    return run.utility, run.baselines


def _mean(figures: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Of what all of them have."""
    return {name: fmean(one[name] for one in figures) for name in figures[0] if all(name in one for one in figures)}


def exact_questions(runs: Sequence[PlannedRun]) -> frozenset[tuple[tuple[str, ...], Mode, str]]:
    """What leaks by a theorem before anything is run."""
    return frozenset(
        (task.adversary.parties, task.adversary.mode, str(task.target))
        for run in runs
        for task in run.tasks
        if task.skip is None and task.prediction.verdict is Verdict.EXACT
    )


def _questions(findings: Sequence[Finding], before: Sequence[Finding]) -> dict[Aim, list[Finding]]:
    """Of all that was asked, and of all that leaked: who is not asked any more has an empty list."""
    found = by_aim(findings)
    return found | {question: [] for question in by_aim(before) if question not in found}


def _worst(tried: Sequence[Finding]) -> Finding:
    return max((finding for finding in tried if finding.is_shown), key=lambda f: (f.severity, learnt(f)))


def _is_open(question: Aim, tried: Sequence[Finding], before: Sequence[Finding]) -> bool:
    """Nothing is shown, and nobody knows: an attack failed or gave up, or theory and measurement disagree."""
    if any(finding.is_shown for finding in tried):
        return False
    if any(finding.outcome is Outcome.ERRORED or contradicts_theory(finding) for finding in tried):
        return True
    leaks = [finding for finding in before if aim(finding) == question]
    if leaks and tried:
        return fate(leaks, tried) not in CLOSED
    undetermined = any(finding.outcome is Outcome.UNDETERMINED for finding in tried)
    return undetermined and not any(finding.outcome in ANSWERED for finding in tried)


def _is_closed(question: Aim, found: dict[Aim, list[Finding]], before: Sequence[Finding]) -> bool:
    tried = found[question]
    return not any(finding.is_shown for finding in tried) and not _is_open(question, tried, before)
