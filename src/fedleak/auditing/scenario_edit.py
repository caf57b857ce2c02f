"""What differs between two scenarios, as lines of TOML that can be pasted over those of the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fedleak.auditing.scenario import Scenario
from fedleak.auditing.scenario_file import scenario_json
from fedleak.auditing.scenario_text import toml_value
from fedleak.core.whole.hooks import Defense
from fedleak.schema.codec_containers import as_object


def edit_text(before: Scenario, after: Scenario) -> str:
    """Tables of parties stand there whole: they take the place of all that the first scenario has."""
    return "\n".join(_lines(before, after))


def changed_keys(before: Scenario, after: Scenario) -> tuple[str, ...]:
    """Names of what differs; of a defense its own. Two changes of the same names are of one kind."""
    old, new = scenario_json(before), scenario_json(after)
    named = [part for part in ("protocol", "partition", "parties") if old[part] != new[part]]
    named += _differing(old["settings"], new["settings"])
    return tuple(sorted({*named, *(f"[{defense.name}]" for defense in _added(before, after))}))


def _lines(before: Scenario, after: Scenario) -> Iterator[str]:
    old, new = scenario_json(before), scenario_json(after)
    federation = [f"protocol = {toml_value(after.protocol)}"] * (before.protocol != after.protocol)
    federation += [
        f"{key} = {toml_value(as_object(new['settings'])[key])}" for key in _differing(old["settings"], new["settings"])
    ]
    if federation:
        yield from ("[federation]", *federation)
    partition = as_object(new["partition"])
    if changed := _differing(old["partition"], partition):
        yield from ("[federation.partition]", *(f"{key} = {toml_value(partition[key])}" for key in changed))
    if old["parties"] != new["parties"]:
        specs = new["parties"]
        assert isinstance(specs, list)
        for spec in specs:
            yield from ("[[federation.parties]]", *_given(as_object(spec)))
    for defense in _added(before, after):
        yield from ("[[defense]]", f"name = {toml_value(defense.name)}", *_parameters(defense, after))


def _differing(old: object, new: object) -> list[str]:
    """Keys of the new table whose value is another one, or that the old one lacks; a key without a value is no line."""
    before = as_object(old)
    return [key for key, value in as_object(new).items() if value is not None and before.get(key) != value]


def _given(spec: Mapping[str, object]) -> Iterator[str]:
    yield from (f"{key} = {toml_value(value)}" for key, value in spec.items() if value is not None and value != [])


def _parameters(defense: Defense, scenario: Scenario) -> Iterator[str]:
    """Those that are not as usual."""
    place = scenario.defenses.index(defense)
    found = scenario_json(scenario)["defenses"]
    assert isinstance(found, list)
    usual = {field: default.default for field, default in type(defense).__dataclass_fields__.items()}
    for key, value in as_object(found[place]).items():
        if key != "name" and getattr(defense, key) != usual[key]:
            yield f"{key} = {toml_value(value)}"


def _added(before: Scenario, after: Scenario) -> list[Defense]:
    return [defense for defense in after.defenses if defense not in before.defenses]
