"""Every attack on the runs of one place in the plan: attempts side by side, and what is decided on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.planner import NOTHING_LEFT, OF_CELLS, Task
from fedleak.auditing.runs_ahead import RunsAhead
from fedleak.auditing.time_left import TIME_SPENT
from fedleak.core.errors import TimeSpentError, in_one_line, show_traceback
from fedleak.core.finding import Finding, Outcome
from fedleak.core.knowledge import Knowledge
from fedleak.core.whole.randomness import Randomness
from fedleak.trial.attempt import Attempt
from fedleak.trial.ceilings import with_ceiling
from fedleak.trial.conversation import Limits
from fedleak.trial.decide import Question, decide, unanswered
from fedleak.trial.play import Played


@dataclass(frozen=True, eq=False)
class Attacking:
    """``replays``: a run that took place elsewhere, of which there is no second one."""

    randomness: Randomness
    limits: Limits
    jobs: int
    isolated: bool
    replays: bool

    def try_all(
        self,
        tasks: Sequence[Task],
        runs: Sequence[Played],
        defense: str | None,
        ahead: RunsAhead,
        found: Callable[[Task, Finding], None],
        seconds_left: Callable[[], float | None],
    ) -> None:
        """Each attempt is a process of its own, and a thread here waits, answers and scores."""

        def attack(task: Task) -> Finding:
            with ahead.one_core():
                return self._attack(task, runs, defense)

        with ThreadPoolExecutor(self.jobs) as pool:
            running = {pool.submit(attack, task): task for task in tasks}
            try:
                for done in as_completed(running, seconds_left()):
                    found(running[done], done.result())
            except BaseException as ended:  # Ctrl-C: nobody waits for an attack of an hour
                pool.shutdown(wait=False, cancel_futures=True)
                for played in runs:
                    played.end()
                if isinstance(ended, TimeoutError):
                    raise TimeSpentError(TIME_SPENT) from ended
                raise

    def _attack(self, task: Task, runs: Sequence[Played], defense: str | None) -> Finding:
        """What ciphertexts look like is no question to further runs, which are under the ideal cipher."""
        one_run = self.replays or task.attack.reads_bytes
        question = replace(task.question(defense), one_run=one_run)
        try:
            return _decided(question, task, [self._attempt(task, played) for played in runs[: 1 if one_run else None]])
        except Exception as error:  # an InputError too: what the scenario gets wrong was told before the runs
            show_traceback(error)
            return unanswered(question, Outcome.ERRORED, in_one_line(error))

    def _attempt(self, task: Task, played: Played) -> Attempt | None:
        """None where the adversary knows everything already."""
        coalition = task.adversary.parties
        rng = self.randomness.public("knowledge", *coalition)
        knowledge = draw_knowledge(task.adversary.knowledge, played.federation, coalition, rng)
        if _all_known(task, played, knowledge):
            return None
        return played.attempt(
            task.attack,
            coalition,
            task.target,
            knowledge,
            limits=self.limits,
            isolated=self.isolated,
        )


def _decided(question: Question, task: Task, attempts: Sequence[Attempt | None]) -> Finding:
    tried = [attempt for attempt in attempts if attempt is not None]
    if not tried:
        return unanswered(question, Outcome.SKIPPED, NOTHING_LEFT)
    canaries = [attempt.canaries for attempt in tried if attempt.canaries is not None]
    return with_ceiling(decide(question, tried), task.facts, canaries)


def _all_known(task: Task, played: Played, knowledge: Knowledge) -> bool:
    """A share just below 1 may round to every cell of a small table; a plan without data cannot tell."""
    if task.target.kind not in OF_CELLS or not knowledge.cells:
        return False
    values = played.run.truth.of(task.target)
    return bool(knowledge.cell_mask(task.target.owner, values.ids, values.cell_shape).all())
