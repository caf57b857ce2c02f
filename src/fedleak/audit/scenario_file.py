"""Read a scenario from TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from importlib import resources
from pathlib import Path

from fedleak.audit.reading import as_table, as_tables, read_spec
from fedleak.audit.scenario import AdversarySpec, PartitionSpec, PartySpec, Scenario
from fedleak.audit.scenario_checks import check_scenario
from fedleak.core.defense import Defense
from fedleak.core.errors import ScenarioError, UnknownNameError
from fedleak.core.hints import nearest_or_list
from fedleak.core.protocol import Protocol
from fedleak.core.registry import Registry
from fedleak.data.spec import DataSpec
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS

MAX_SCENARIO_BYTES = 1 << 20
SECTIONS = ("title", "seed", "data", "federation", "adversary", "defense")
BUILT_IN = "bank_and_fintech.toml"


def load_scenario(path: Path) -> Scenario:
    """Read a file; every error is one line that names the file."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SCENARIO_BYTES + 1)  # a device has no size, and perhaps no end
        if len(content) > MAX_SCENARIO_BYTES:
            raise ScenarioError(f"{path}: a scenario must be at most {MAX_SCENARIO_BYTES} bytes long")
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: a scenario must be UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise ScenarioError(f"{path}: the scenario cannot be read ({error.strerror})") from error
    try:
        return replace(parse_scenario(text), folder=path.parent)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from error


def built_in_scenario() -> Scenario:
    return parse_scenario((resources.files("fedleak.audit") / "scenarios" / BUILT_IN).read_text(encoding="utf-8"))


def parse_scenario(text: str) -> Scenario:
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError(f"not valid TOML: {error}") from error
    for key in raw:
        if key not in SECTIONS:
            raise ScenarioError(f"unknown section {key!r}{nearest_or_list(key, SECTIONS)}")
    for key in ("data", "federation", "adversary"):
        if key not in raw:
            raise ScenarioError(f"the section [{key}] is missing")
    scenario = _assemble(raw)
    check_scenario(scenario)
    return scenario


def _assemble(raw: Mapping[str, object]) -> Scenario:
    federation = dict(as_table(raw["federation"], "federation"))
    protocol = _named(PROTOCOLS, federation.pop("protocol", None), "federation.protocol")
    partition = read_spec(PartitionSpec, federation.pop("partition", {}), "federation.partition")
    party_tables = as_tables(federation.pop("parties", []), "federation.parties")
    title, seed = raw.get("title", "untitled"), raw.get("seed", 0)
    if not isinstance(title, str):
        raise ScenarioError(f"title must be a text; got {title!r}")
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ScenarioError(f"seed must be a whole number from 0 on; got {seed!r}")
    return Scenario(
        title=title,
        seed=seed,
        data=read_spec(DataSpec, raw["data"], "data"),
        protocol=protocol.name,
        settings=read_spec(protocol.settings_type, federation, "federation"),
        partition=partition,
        parties=tuple(read_spec(PartySpec, t, f"federation.parties[{i}]") for i, t in enumerate(party_tables)),
        adversaries=tuple(
            read_spec(AdversarySpec, t, f"adversary[{i}]")
            for i, t in enumerate(as_tables(raw["adversary"], "adversary"))
        ),
        defenses=tuple(
            _read_defense(t, f"defense[{i}]") for i, t in enumerate(as_tables(raw.get("defense", []), "defense"))
        ),
    )


def _named(registry: Registry[Protocol], name: object, place: str) -> type[Protocol]:
    if not isinstance(name, str):
        known = ", ".join(sorted(plugin.name for plugin in registry))
        raise ScenarioError(f"{place} must be the name of a {registry.what} ({known}); got {name!r}")
    try:
        return registry.get(name)
    except UnknownNameError as error:
        raise ScenarioError(f"{place}: {error}") from error


def _read_defense(table: Mapping[str, object], place: str) -> Defense:
    name = table.get("name")
    if not isinstance(name, str):
        raise ScenarioError(f"{place}: the key 'name' is missing; it is the name of a defense")
    try:
        cls = DEFENSES.get(name)
    except UnknownNameError as error:
        raise ScenarioError(f"{place}: {error}") from error
    return read_spec(cls, {key: value for key, value in table.items() if key != "name"}, place)


def defense_label(defense: Defense) -> str:
    """A defense with its parameters, short enough for a table: gaussian-noise(sigma=20)."""
    shown = [f"{f.name}={getattr(defense, f.name)!r}" for f in fields(defense) if getattr(defense, f.name) != f.default]
    return f"{defense.name}({', '.join(shown)})" if shown else defense.name
