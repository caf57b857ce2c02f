"""What must hold between the parts of a scenario; each part has checked itself when it was read."""

from __future__ import annotations

from collections import Counter

from fedleak.attacks import ATTACKS
from fedleak.audit.scenario import WITHOUT_DATA, AdversarySpec, PartySpec, Scenario
from fedleak.core.errors import ScenarioError, UnknownNameError
from fedleak.core.hints import nearest_or_list
from fedleak.protocols import PROTOCOLS


def check_scenario(scenario: Scenario) -> None:
    _check_roles(scenario)
    _check_columns(scenario.parties)
    _check_adversaries(scenario)
    _check_defenses(scenario)


def _check_roles(scenario: Scenario) -> None:
    allowed = PROTOCOLS.get(scenario.protocol).roles
    names = Counter(party.name for party in scenario.parties)
    for party in scenario.parties:
        if names[party.name] > 1:
            raise ScenarioError(f"federation.parties: two parties are called {party.name!r}")
        if party.role not in allowed:
            listed = ", ".join(sorted(role.value for role in allowed))
            raise ScenarioError(
                f"federation.parties: the role of {party.name!r} must be one of {listed} in {scenario.protocol}; "
                f"got {party.role.value!r}"
            )
    counts = Counter(party.role for party in scenario.parties)
    for role in sorted(allowed):
        if not counts[role] or (role in WITHOUT_DATA and counts[role] > 1):
            wanted = "one party" if role in WITHOUT_DATA else "a party"
            raise ScenarioError(
                f'federation.parties must have {wanted} with role = "{role.value}" in {scenario.protocol}; '
                f"got {counts[role]}"
            )


def _check_columns(parties: tuple[PartySpec, ...]) -> None:
    seen: dict[str, str] = {}
    for party in parties:
        if party.role in WITHOUT_DATA and (party.columns or party.n_columns or party.share):
            raise ScenarioError(f"federation.parties: {party.name!r} is {party.role.value} and must hold no columns")
        for column in party.columns:
            if column in seen:
                raise ScenarioError(
                    f"federation.parties: the column {column!r} is claimed by {seen[column]!r} and {party.name!r}; "
                    "give it to one of them"
                )
            seen[column] = party.name


def _check_adversaries(scenario: Scenario) -> None:
    if not scenario.adversaries:
        raise ScenarioError("adversary must name at least one adversary, in a table [[adversary]]")
    names = {party.name for party in scenario.parties}
    for index, adversary in enumerate(scenario.adversaries):
        _check_adversary(adversary, f"adversary[{index}]", names)
        first = scenario.adversaries.index(adversary)
        if first < index:
            raise ScenarioError(f"adversary[{index}] must differ from adversary[{first}]; leave one of them out")


def _check_adversary(adversary: AdversarySpec, place: str, names: set[str]) -> None:
    if not adversary.parties:
        raise ScenarioError(f"{place}.parties must name at least one party")
    for name in adversary.parties:
        if name not in names:
            raise ScenarioError(f"{place}: unknown party {name!r}{nearest_or_list(name, names)}")
        if adversary.parties.count(name) > 1:
            raise ScenarioError(f"{place}.parties must name each party once; got {name!r} twice")
    for attack in adversary.attacks:
        try:
            ATTACKS.get(attack)
        except UnknownNameError as error:
            raise ScenarioError(f"{place}.attacks: {error}") from error


def _check_defenses(scenario: Scenario) -> None:
    for index, defense in enumerate(scenario.defenses):
        first = scenario.defenses.index(defense)
        if first < index:
            raise ScenarioError(f"defense[{index}] must differ from defense[{first}]; leave one of them out")
        misfit = PROTOCOLS.get(scenario.protocol).misfit(defense)
        if misfit:
            raise ScenarioError(f"defense[{index}]: {misfit}; leave it out")
