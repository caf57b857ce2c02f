"""Scenarios in TOML, read strictly, and written as JSON into a report."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from enum import Enum, StrEnum
from importlib import resources
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fedleak.auditing.scenario import AdversarySpec, PartitionSpec, PartySpec, Scenario, check_scenario
from fedleak.core.errors import FedleakError, ScenarioError, UnknownNameError, nearest_or_list
from fedleak.core.registry import Registry
from fedleak.core.whole.hooks import Defense
from fedleak.core.whole.protocol import Protocol
from fedleak.data.spec import DataSpec
from fedleak.defenses import DEFENSES
from fedleak.protocols import PROTOCOLS

SpecT = TypeVar("SpecT")


def read_spec(cls: type[SpecT], raw: object, place: str) -> SpecT:
    """Build a dataclass from a TOML table; unknown keys, wrong types and missing keys are errors."""
    table = as_table(raw, place)
    known: dict[str, Field[Any]] = {field.name: field for field in fields(cls) if field.init}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise ScenarioError(f"{place}: unknown key {key!r}{nearest_or_list(key, known)}")
    hints = get_type_hints(cls)
    values = {key: _convert(value, hints[key], f"{place}.{key}") for key, value in table.items()}
    for name, field in known.items():
        if name not in values and _is_required(field):
            raise ScenarioError(
                f"{place}: the key {name!r} is missing; {field.metadata.get('about', 'it is required')}"
            )
        choices = field.metadata.get("choices", ())
        if name in values and choices and values[name] not in choices:
            hint = nearest_or_list(str(values[name]), choices)
            raise ScenarioError(f"{place}.{name} must be one of {', '.join(choices)}; got {values[name]!r}{hint}")
    try:
        return cls(**values)
    except FedleakError as error:
        raise ScenarioError(f"{place}: {error}") from error


def as_table(raw: object, place: str) -> Mapping[str, object]:
    if not isinstance(raw, Mapping):
        raise ScenarioError(f"{place} must be a table; got {_name_of(raw)}")
    return raw


def as_tables(raw: object, place: str) -> Sequence[Mapping[str, object]]:
    if not isinstance(raw, list):
        raise ScenarioError(f"{place} must be an array of tables, written [[{place}]]; got {_name_of(raw)}")
    return [as_table(item, f"{place}[{index}]") for index, item in enumerate(raw)]


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _convert(value: object, wanted: Any, place: str) -> object:
    origin = get_origin(wanted)
    if origin in (Union, UnionType):
        return _convert_union(value, wanted, place)
    if is_dataclass(wanted) and isinstance(wanted, type):
        return read_spec(wanted, value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(place, "a list", value)
        return tuple(_convert(item, get_args(wanted)[0], f"{place}[{i}]") for i, item in enumerate(value))
    if origin is Literal:
        if value not in get_args(wanted):
            hint = nearest_or_list(str(value), [str(choice) for choice in get_args(wanted)])
            choices = ", ".join(str(choice) for choice in get_args(wanted))
            raise ScenarioError(f"{place} must be one of {choices}; got {value!r}{hint}")
        return value
    return _convert_plain(value, wanted, place)


def _convert_union(value: object, wanted: Any, place: str) -> object:
    members = [member for member in get_args(wanted) if member is not NoneType]
    for member in members:
        try:
            return _convert(value, member, place)
        except ScenarioError:
            continue
    raise _wrong(place, " or ".join(_name_of_type(member) for member in members), value)


def _convert_plain(value: object, wanted: Any, place: str) -> object:
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        if value not in [member.value for member in wanted]:
            hint = nearest_or_list(str(value), [member.value for member in wanted])
            raise ScenarioError(f"{place} must be one of {', '.join(wanted)}; got {value!r}{hint}")
        return wanted(value)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise _wrong(place, _name_of_type(wanted), value)
    return value


def _wrong(place: str, wanted: str, value: object) -> ScenarioError:
    return ScenarioError(f"{place} must be {wanted}; got {_name_of(value)} {value!r}")


def _name_of(value: object) -> str:
    return _name_of_type(type(value))


def _name_of_type(kind: Any) -> str:
    names = {
        int: "a whole number",
        float: "a number",
        str: "a text",
        bool: "true or false",
        dict: "a table",
        list: "a list",
    }
    return names.get(kind, getattr(kind, "__name__", str(kind)))


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
    return parse_scenario((resources.files("fedleak.auditing") / "scenarios" / BUILT_IN).read_text(encoding="utf-8"))


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
    if protocol.replays:
        raise ScenarioError(
            f"federation.protocol must be one that can be run; got {protocol.name!r}. A captured run has no scenario: "
            "fedleak audit --transcript DIR"
        )
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
        known = ", ".join(sorted(registry.names))
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


def scenario_json(scenario: Scenario) -> dict[str, object]:
    return {field.name: _json(getattr(scenario, field.name)) for field in fields(scenario) if field.name != "folder"}


def _json(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_json(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        named = {"name": value.name} if isinstance(value, Defense) else {}
        return {**named, **{field.name: _json(getattr(value, field.name)) for field in fields(value)}}
    return value
