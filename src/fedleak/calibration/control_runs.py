"""Positive controls: for each attack a small scenario that it provably wins."""

from __future__ import annotations

from pathlib import Path

from fedleak.attacks import ATTACKS
from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import load_scenario
from fedleak.core.attack import Attack
from fedleak.testing.controls import shipped_controls
from fedleak.testing.situations import Situation, situation_in

CONTROLS = Path(__file__).parent / "controls"


def controls_of(attack: type[Attack]) -> tuple[str, ...]:
    """Ours go by the attack's name or, where it has a second way to win, by an alias; others ship theirs."""
    named = (attack.name, *attack.aliases)
    return tuple(name for name in named if (CONTROLS / f"{name}.toml").is_file()) or tuple(attack.controls)


def scenario_of(attack: type[Attack], control: str) -> Scenario:
    shipped = shipped_controls(attack)
    return shipped[control] if control in shipped else load_scenario(CONTROLS / f"{control}.toml")


def control_situations(attack: str, control: str, *, seed: int, repeats: int) -> list[Situation]:
    """The runs that one finding is decided on."""
    found = ATTACKS.get(attack)
    scenario = scenario_of(found, control)
    return [situation_in(scenario, found, seed=seed, repeat=number) for number in range(repeats)]
