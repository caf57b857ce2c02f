"""What the contract tests share: a control scenario for each attack, its runs, and a sealed-off process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np

from fedleak.attacks import ATTACKS
from fedleak.auditing.declared_data import draw_knowledge
from fedleak.auditing.planner import PlannedRun, Task, plan_audit
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import load_scenario
from fedleak.core.attack import Attack
from fedleak.core.steps import Role
from fedleak.core.view import View
from fedleak.core.whole.federation import Federation, Party
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.run import MemorySink, Run
from fedleak.protocols import PROTOCOLS
from fedleak.storage import save_view

CONTROLS = Path(__file__).parent / "controls"
ISOLATED = Path(__file__).parent / "isolated.py"
# An attack of two ways has a control for each; the second one goes by an alias.
ATTACK_NAMES = [
    name
    for attack in ATTACKS
    for name in (attack.name, *(alias for alias in attack.aliases if (CONTROLS / f"{alias}.toml").is_file()))
]


@dataclass(frozen=True, eq=False)
class Situation:
    """A run of an attack's control scenario, and the task that the attack has there."""

    run: Run
    view: View
    task: Task
    federation: Federation


def control(name: str) -> Scenario:
    path = CONTROLS / f"{name}.toml"
    assert path.is_file(), f"attack {name} has no positive control; write a tiny scenario that it wins: {path}"
    return load_scenario(path)


@lru_cache(maxsize=32)
def situation(name: str, *, seed: int = 0, other_secrets: bool = False, defense: Defense | None = None) -> Situation:
    """Run the control; with ``other_secrets`` every party outside the coalition has its rows shuffled."""
    scenario = replace(control(name), seed=seed)
    planned, task = _find(plan_audit(scenario), name)
    if other_secrets:
        planned = replace(planned, federation=_with_other_secrets(planned.federation, task, seed))
    if defense:
        planned = replace(planned, federation=defense.configure(planned.federation), defense=defense)
    protocol = PROTOCOLS.get(planned.federation.protocol)()
    run = protocol.run(planned.federation, rng=np.random.default_rng(seed), hooks=planned.hooks, sink=MemorySink())
    coalition = task.adversary.parties
    knowledge = draw_knowledge(
        task.adversary.knowledge, planned.federation, coalition, np.random.default_rng([seed, 1])
    )
    view = run.view(coalition, task.target, task.facts, knowledge=knowledge)
    return Situation(run, view, task, planned.federation)


def _find(runs: tuple[PlannedRun, ...], name: str) -> tuple[PlannedRun, Task]:
    for planned in runs:
        for task in planned.tasks:
            if task.attack is ATTACKS.get(name):
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


@contextmanager
def secrets_lying_about(federation: Federation, folder: Path) -> Iterator[None]:
    """The whole federation's data where a cheating attack would look for them, and nobody else's."""
    folder.mkdir()
    for party in federation.parties:
        np.savez(folder / f"{party.name}.npz", features=party.train.features, labels=_labels(party))
    try:
        yield
    finally:
        shutil.rmtree(folder)


def _labels(party: Party) -> np.ndarray:
    return np.zeros(0) if party.train.labels is None else np.asarray(party.train.labels)


def guess_in_isolation(attack: str, view: View, folder: Path, others: Federation) -> bytes:
    """Run an attack ("module:Class") on a saved view in a fresh process, with the data of ``others`` on the disk."""
    _ask_oracles(attack, view)
    saved, secrets = folder / "view", folder / "secrets"
    _ask_oracles(attack, view)
    save_view(view, saved, overwrite=True)
    with secrets_lying_about(others, secrets):
        done = subprocess.run(
            [sys.executable, str(ISOLATED), attack, str(saved)],
            cwd=secrets,
            capture_output=True,
            env={
                "PATH": "",
                "FEDLEAK_DATA": str(secrets),
                "PYTHONPATH": ":".join(_import_folders()),
                "PYTHONDONTWRITEBYTECODE": "1",
                "OMP_NUM_THREADS": "1",
            },
            check=False,
            timeout=120,
        )
    if done.returncode:
        raise IsolationError(done.stderr.decode()[-2000:])
    return done.stdout


def _ask_oracles(attack: str, view: View) -> None:
    """A saved view replays its oracles' logs: the attack asks its questions here, with the randomness it has there."""
    if view.oracles:
        module, _, name = attack.partition(":")
        getattr(import_module(module), name)().run(view, rng=np.random.default_rng(0))


class IsolationError(Exception):
    """The attack touched something that it may not touch, or failed."""


def _import_folders() -> list[str]:
    import fedleak

    return [str(Path(fedleak.__file__).parents[1]), str(Path(__file__).parent)]


def plugin_path(attack: type[Attack]) -> str:
    return f"{attack.__module__}:{attack.__name__}"
