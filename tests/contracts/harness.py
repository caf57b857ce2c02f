"""What the contract tests of our own attacks share: a control scenario for each, and its runs."""

from __future__ import annotations

from functools import lru_cache

from fedleak.attacks import ATTACKS
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import load_scenario
from fedleak.calibration.control_runs import CONTROLS
from fedleak.core.whole.hooks import Defense
from fedleak.testing.situations import Situation, situation_in

# An attack of two ways has a control for each; the second one goes by an alias.
ATTACK_NAMES = [
    name
    for attack in ATTACKS.own
    for name in (attack.name, *(alias for alias in attack.aliases if (CONTROLS / f"{alias}.toml").is_file()))
]


def control(name: str) -> Scenario:
    path = CONTROLS / f"{name}.toml"
    assert path.is_file(), f"attack {name} has no positive control; write a tiny scenario that it wins: {path}"
    return load_scenario(path)


@lru_cache(maxsize=16)
def situation(name: str, *, seed: int = 0, other_secrets: bool = False, defense: Defense | None = None) -> Situation:
    """A run of the attack's control."""
    return situation_in(control(name), ATTACKS.get(name), seed=seed, other_secrets=other_secrets, defense=defense)
