"""The contract tests that ``--fedleak-attack`` runs; the plug-in hands this file to pytest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import pytest

from fedleak.attacks import ATTACKS
from fedleak.auditing.scenario import Scenario
from fedleak.core.attack import Attack
from fedleak.testing import contracts, controls
from fedleak.testing.imports import check_imports
from fedleak.testing.named_attack import attack_named
from fedleak.testing.situations import Situation, situation_in
from fedleak.testing.surroundings import Surroundings, surroundings


@dataclass(frozen=True)
class Trying:
    """An attack in a scenario; runs are kept, since all tests need the same few."""

    attack: type[Attack]
    scenario: Scenario

    @lru_cache(maxsize=16)  # noqa: B019  (there is one for a whole run of pytest)
    def __call__(self, *, seed: int = 0, other_secrets: bool = False) -> Situation:
        return situation_in(self.scenario, self.attack, seed=seed, other_secrets=other_secrets)


@pytest.fixture(scope="session")
def attack(attack_path: str) -> type[Attack]:
    found = attack_named(attack_path)
    ATTACKS.add(found, "this run of pytest")
    return found


@pytest.fixture(scope="session")
def cases(attack: type[Attack]) -> Trying:
    """In its first control, or in a usual scenario where it ships none."""
    shipped = controls.shipped_controls(attack)
    return Trying(attack, next(iter(shipped.values())) if shipped else controls.usual_scenario(attack))


@pytest.fixture(scope="session")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surroundings]:
    with surroundings(tmp_path_factory.mktemp("here")) as found:
        yield found


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Surroundings]:
    with surroundings(tmp_path_factory.mktemp("elsewhere")) as found:
        yield found


def test_metadata_is_complete(attack: type[Attack]) -> None:
    contracts.check_metadata(attack)


def test_it_imports_nothing_that_knows_the_truth(attack: type[Attack]) -> None:
    check_imports(attack)


def test_it_travels_to_another_process(attack: type[Attack]) -> None:
    contracts.check_pickles(attack)


def test_the_guess_survives_the_file_format(cases: Trying) -> None:
    contracts.check_format(cases)


def test_one_generator_gives_one_guess(cases: Trying) -> None:
    contracts.check_deterministic(cases)


def test_swap(attack: type[Attack], cases: Trying, here: Surroundings, elsewhere: Surroundings) -> None:
    contracts.check_swap(attack, cases, here, elsewhere)


def test_null(cases: Trying) -> None:
    contracts.check_null(cases)


def test_it_wins_its_controls(attack: type[Attack]) -> None:
    shipped = controls.shipped_controls(attack)
    if not shipped:
        pytest.skip(f"{attack.name} names no scenario in controls")
    for scenario in shipped.values():
        contracts.check_control(Trying(attack, scenario))
