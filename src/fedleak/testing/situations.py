"""A run of a small scenario, and the place that an attack has in it, as in an audit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedleak.auditing.declared_knowledge import draw_knowledge
from fedleak.auditing.planner import PlannedRun, Task, plan_audit
from fedleak.auditing.scenario import Scenario
from fedleak.core.adversary import Symmetry
from fedleak.core.attack import Attack
from fedleak.core.facts import Facts
from fedleak.core.knowledge import Knowledge
from fedleak.core.steps import Role
from fedleak.core.view import View
from fedleak.core.whole.federation import Federation, Party
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.truth import SecretValues
from fedleak.trial.attempt import Attempt
from fedleak.trial.conversation import Limits
from fedleak.trial.play import NO_LIMITS, Played, play


@dataclass(frozen=True, eq=False)
class Situation:
    """A run, and the task that the attack has there."""

    played: Played
    task: Task
    knowledge: Knowledge

    @property
    def coalition(self) -> tuple[str, ...]:
        return self.task.adversary.parties

    @property
    def facts(self) -> Facts:
        return self.task.facts

    @property
    def truth(self) -> SecretValues:
        return self.played.run.truth.of(self.task.target)

    def view(self) -> View:
        """A new one, with oracles of its own."""
        return self.played.view(self.coalition, self.task.target, self.knowledge)

    def attempt(
        self,
        attack: Attack | type[Attack] | None = None,
        *,
        seed: int = 0,
        isolated: bool = True,
        brief: bool = False,
        limits: Limits = NO_LIMITS,
    ) -> Attempt:
        """The situation's own attack, or another one in its place."""
        return self.played.attempt(
            attack or self.task.attack,
            self.coalition,
            self.task.target,
            self.knowledge,
            repeat=seed,
            limits=limits,
            isolated=isolated,
            brief=brief,
        )

    def judged_by(self, other: Situation) -> Situation:
        """What was seen is of this run, and what is true is of another."""
        run = replace(self.played.run, truth=other.played.run.truth)
        return replace(self, played=replace(self.played, run=run))


def situation_in(
    scenario: Scenario,
    attack: type[Attack],
    *,
    seed: int = 0,
    other_secrets: bool = False,
    defense: Defense | None = None,
    repeat: int = 0,
) -> Situation:
    """Run the scenario; with ``other_secrets`` every party outside the coalition has its rows shuffled. ``repeat``
    numbers runs that differ in what the parties draw for themselves."""
    scenario = replace(scenario, seed=seed, defenses=(defense,) if defense else ())
    planned, task = _find(plan_audit(scenario), attack, defense)
    if other_secrets:
        planned = replace(planned, federation=_with_other_secrets(planned.federation, task, seed))
    played = play(
        planned.federation,
        Randomness.published(seed).again(repeat),
        defense=defense,
        deviation=planned.dishonest,
        deviating=planned.deviating,
    )
    rng = np.random.default_rng([seed, 1])
    known = draw_knowledge(task.adversary.knowledge, played.federation, task.adversary.parties, rng)
    assert played.seen_by(task.adversary.parties, known) == task.facts, "plan and view must hold the same facts"
    return Situation(played, task, known)


def _find(runs: tuple[PlannedRun, ...], attack: type[Attack], defense: Defense | None) -> tuple[PlannedRun, Task]:
    """The first place that the attack has; a scenario may have adversaries that it is not for."""
    found = [(run, task) for run in runs if run.defense is defense for task in run.tasks if task.attack is attack]
    assert found, f"the scenario for {attack.name} does not plan it: is it for another protocol?"
    for planned, task in found:
        if task.skip is None:
            return planned, task
    raise AssertionError(f"the scenario for {attack.name} skips it: {found[0][1].skip}")


def _with_other_secrets(federation: Federation, task: Task, seed: int) -> Federation:
    rng = np.random.default_rng([seed, 99])
    several_hold_labels = len(federation.with_role(Role.ACTIVE)) > 1
    unnamed = several_hold_labels or Symmetry.ROW_ORDER in task.attack.up_to
    other = _with_other_rows if unnamed else _shuffled
    return replace(
        federation,
        parties=tuple(
            party if party.name in task.adversary.parties else other(party, rng) for party in federation.parties
        ),
    )


def _with_other_rows(party: Party, rng: np.random.Generator) -> Party:
    """For attacks that name no rows the order of rows is no secret: every cell changes place."""
    cells = rng.permutation(party.train.features.flatten()).reshape(party.train.features.shape)
    labels = None if party.train.labels is None else rng.permutation(party.train.labels.copy())
    return replace(party, train=replace(party.train, features=cells, labels=labels))


def _shuffled(party: Party, rng: np.random.Generator) -> Party:
    order = rng.permutation(len(party.train.ids))
    labels = None if party.train.labels is None else party.train.labels[rng.permutation(len(order))]
    return replace(party, train=replace(party.train, features=party.train.features[order], labels=labels))
