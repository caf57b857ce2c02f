"""What the contract tests share: a control scenario for each attack, its runs, and servers amid somebody's data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from fedleak.attacks import ATTACKS
from fedleak.auditing.declared_data import draw_knowledge
from fedleak.auditing.planner import PlannedRun, Task, plan_audit
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import load_scenario
from fedleak.core.attack import Attack
from fedleak.core.facts import Facts
from fedleak.core.finding import Score
from fedleak.core.knowledge import Knowledge
from fedleak.core.steps import Role
from fedleak.core.view import View
from fedleak.core.whole.federation import Federation, Party
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.randomness import Randomness
from fedleak.core.whole.truth import SecretValues
from fedleak.storage import guess_to_bytes
from fedleak.trial.attempt import Attempt
from fedleak.trial.conversation import Limits
from fedleak.trial.isolation import Isolation
from fedleak.trial.play import NO_LIMITS, Played, play

CONTROLS = Path(__file__).parent / "controls"
# An attack of two ways has a control for each; the second one goes by an alias.
ATTACK_NAMES = [
    name
    for attack in ATTACKS
    for name in (attack.name, *(alias for alias in attack.aliases if (CONTROLS / f"{alias}.toml").is_file()))
]


@dataclass(frozen=True, eq=False)
class Situation:
    """A run of an attack's control scenario, and the task that the attack has there, as in an audit."""

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
        limits: Limits = NO_LIMITS,
    ) -> Attempt:
        """The control's own attack, or another one in its place."""
        return self.played.attempt(
            attack or self.task.attack,
            self.coalition,
            self.task.target,
            self.knowledge,
            repeat=seed,
            limits=limits,
            isolated=isolated,
        )

    def judged_by(self, other: Situation) -> Situation:
        """What was seen is of this run, and what is true is of another."""
        run = replace(self.played.run, truth=other.played.run.truth)
        return replace(self, played=replace(self.played, run=run))


def control(name: str) -> Scenario:
    path = CONTROLS / f"{name}.toml"
    assert path.is_file(), f"attack {name} has no positive control; write a tiny scenario that it wins: {path}"
    return load_scenario(path)


@lru_cache(maxsize=16)
def situation(name: str, *, seed: int = 0, other_secrets: bool = False, defense: Defense | None = None) -> Situation:
    """Run the control; with ``other_secrets`` every party outside the coalition has its rows shuffled."""
    scenario = replace(control(name), seed=seed, defenses=(defense,) if defense else ())
    planned, task = _find(plan_audit(scenario), name, defense)
    if other_secrets:
        planned = replace(planned, federation=_with_other_secrets(planned.federation, task, seed))
    played = play(
        planned.federation,
        Randomness.published(seed),
        defense=defense,
        deviation=planned.dishonest,
        deviating=planned.deviating,
    )
    rng = np.random.default_rng([seed, 1])
    knowledge = draw_knowledge(task.adversary.knowledge, played.federation, task.adversary.parties, rng)
    assert played.seen_by(task.adversary.parties, knowledge) == task.facts, "plan and view hold the same facts"
    return Situation(played, task, knowledge)


def _find(runs: tuple[PlannedRun, ...], name: str, defense: Defense | None) -> tuple[PlannedRun, Task]:
    for planned in runs:
        for task in planned.tasks:
            if task.attack is ATTACKS.get(name) and planned.defense is defense:
                assert task.skip is None, f"the control of {name} skips it: {task.skip}"
                return planned, task
    raise AssertionError(f"the control of {name} does not plan it")


def _with_other_secrets(federation: Federation, task: Task, seed: int) -> Federation:
    rng = np.random.default_rng([seed, 99])
    several_hold_labels = len(federation.with_role(Role.ACTIVE)) > 1
    other = _with_other_rows if several_hold_labels else _shuffled
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


@dataclass(frozen=True, eq=False)
class Surroundings:
    """A server of attack processes in a folder that its environment names too: where a cheater would look for data."""

    folder: Path
    isolation: Isolation

    def guess(self, attack: type[Attack], case: Situation, data: Federation) -> bytes:
        """Of an attack on what the case's coalition saw, with somebody's data lying about."""
        view = case.view()
        self.isolation.preload([attack])
        with self.lying_about(data), closing(self.isolation.chamber(view)) as chamber:
            rng = case.played.randomness.attack(attack.name, case.coalition, str(case.task.target), 0)
            return guess_to_bytes(chamber.attempt(attack, view, rng=rng))

    @contextmanager
    def lying_about(self, data: Federation) -> Iterator[None]:
        for party in data.parties:
            np.savez(self.folder / f"{party.name}.npz", features=party.train.features, labels=_labels(party))
        try:
            yield
        finally:
            for file in list(self.folder.iterdir()):
                file.unlink()


@contextmanager
def surroundings(folder: Path) -> Iterator[Surroundings]:
    isolation = Isolation(folder=folder, environment={"FEDLEAK_DATA": str(folder)})
    try:
        yield Surroundings(folder, isolation)
    finally:
        isolation.close()


def _labels(party: Party) -> np.ndarray:
    return np.zeros(0) if party.train.labels is None else np.asarray(party.train.labels)


def deciding_score(attempt: Attempt) -> Score | None:
    """None where the attack, rightly or wrongly, says nothing."""
    attempt.guess  # noqa: B018  (raises where there is none)
    return attempt.scores[0] if attempt.scores else None
