"""Scenarios in TOML, read strictly, and written as JSON into a report."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TypeVar

from fedleak.auditing.scenario import AdversarySpec, PartitionSpec, PartySpec, Scenario, check_scenario
from fedleak.core.errors import ScenarioError, UnknownNameError, nearest_or_list
from fedleak.core.registry import Registry
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.protocol import Protocol
from fedleak.data.sources.catalogue import SUFFIXES
from fedleak.data.spec import DataSpec
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS
from fedleak.schema.codec import Bounds, Reading
from fedleak.schema.codec_containers import as_object, decode, encode
from fedleak.schema.plain import TOML
from fedleak.schema.strict_json import Malformed, shown

SpecT = TypeVar("SpecT")
PluginT = TypeVar("PluginT")
MAX_SCENARIO_BYTES = 1 << 20
BOUNDS = Bounds(name_chars=MAX_SCENARIO_BYTES)
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
        if path.name.endswith(SUFFIXES):
            raise ScenarioError(
                f"a scenario must be a file in TOML; {path} is a table: fedleak init {path} writes a scenario of it"
            ) from error
        raise ScenarioError(f"{path}: {error}") from error


def built_in_scenario() -> Scenario:
    return parse_scenario((resources.files("fedleak.auditing") / "scenarios" / BUILT_IN).read_text(encoding="utf-8"))


def parse_scenario(text: str) -> Scenario:
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ScenarioError(f"not valid TOML: {error}") from error
    return read_scenario(raw)


def read_scenario(raw: Mapping[str, object]) -> Scenario:
    """From a dictionary of the file's shape; a tuple does for a list."""
    raw = {str(key): _listed(value) for key, value in raw.items()}
    for key in raw:
        if key not in SECTIONS:
            raise ScenarioError(f"unknown section {key!r}{nearest_or_list(key, SECTIONS)}")
    for key in ("data", "federation", "adversary"):
        if key not in raw:
            raise ScenarioError(f"the section [{key}] is missing")
    try:
        scenario = _assemble(raw)
    except Malformed as error:
        raise ScenarioError(error.told()) from error
    check_scenario(scenario)
    return scenario


def _listed(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _listed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    return str(value) if isinstance(value, Path) else value


def _assemble(raw: Mapping[str, object]) -> Scenario:
    with _placed("federation"):
        federation = dict(as_object(raw["federation"], TOML.object_words))
    with _placed("federation", "protocol"):
        protocol = _runnable(_named(PROTOCOLS, federation.pop("protocol", None)))
    partition = _read(PartitionSpec, federation.pop("partition", {}), "federation", "partition")
    parties = _read_tables(PartySpec, federation.pop("parties", []), "federation", "parties")
    return Scenario(
        title=_read(str, raw.get("title", "untitled"), "title"),
        seed=_read_seed(raw.get("seed", 0)),
        data=_read(DataSpec, raw["data"], "data"),
        protocol=protocol.name,
        settings=_read(protocol.settings_type, federation, "federation"),
        partition=partition,
        parties=parties,
        adversaries=_read_tables(AdversarySpec, raw["adversary"], "adversary"),
        defenses=tuple(
            _read_defense(table, "defense", position)
            for position, table in enumerate(_tables(raw.get("defense", []), "defense"))
        ),
    )


def _read(kind: type[SpecT], raw: object, *place: str | int) -> SpecT:
    """A value of the file, as strictly as any other; a table becomes a dataclass."""
    with _placed(*place):
        return decode(kind, raw, TOML, Reading(BOUNDS))


@contextmanager
def _placed(*place: str | int) -> Iterator[None]:
    """An error inside says where in the file it is."""
    try:
        yield
    except Malformed as error:
        for name in reversed(place):
            error.within(name)
        raise


def _read_tables(kind: type[SpecT], raw: object, *place: str) -> tuple[SpecT, ...]:
    return tuple(_read(kind, table, *place, position) for position, table in enumerate(_tables(raw, *place)))


def _tables(raw: object, *place: str) -> list[object]:
    if not isinstance(raw, list):
        name = ".".join(place)
        raise ScenarioError(f"{name} must be an array of tables, written [[{name}]]; got {shown(raw)}")
    return raw


def _read_seed(raw: object) -> int:
    seed = _read(int, raw, "seed")
    if seed < 0:
        raise ScenarioError(f"seed must be a whole number from 0 on; got {seed}")
    return seed


def _runnable(protocol: type[Protocol]) -> type[Protocol]:
    if protocol.replays:
        raise Malformed(
            f"must be one that can be run; got {protocol.name!r}. A captured run has no scenario: "
            "fedleak audit --transcript DIR"
        )
    return protocol


def _named(registry: Registry[PluginT], name: object) -> type[PluginT]:
    if not isinstance(name, str):
        known = ", ".join(sorted(registry.names))
        raise Malformed(f"must be the name of a {registry.what} ({known}); got {shown(name)}")
    try:
        return registry.get(name)
    except UnknownNameError as error:
        raise Malformed(str(error)) from error


def read_defense(raw: Mapping[str, object], *place: str | int) -> Defense:
    """From a table of the file's shape."""
    try:
        return _read_defense(_listed(raw), *place)
    except Malformed as error:
        raise ScenarioError(error.told()) from error


def _read_defense(raw: object, *place: str | int) -> Defense:
    with _placed(*place):
        table = dict(as_object(raw, TOML.object_words))
        if "name" not in table:
            raise Malformed("the key 'name' is missing; it is the name of a defense")
        return _read(_named(DEFENSES, table.pop("name")), table)


def scenario_json(scenario: Scenario) -> dict[str, object]:
    """As resolved, for a report; all but the folder where it lay."""
    return {
        "title": scenario.title,
        "seed": scenario.seed,
        "data": _json(scenario.data),
        "protocol": scenario.protocol,
        "settings": _json(scenario.settings),
        "partition": _json(scenario.partition),
        "parties": [_json(party) for party in scenario.parties],
        "adversaries": [_json(adversary) for adversary in scenario.adversaries],
        "defenses": [{"name": defense.name, **_json(defense)} for defense in scenario.defenses],
    }


def _json(spec: object) -> dict[str, object]:
    return as_object(encode(type(spec), spec, TOML))
